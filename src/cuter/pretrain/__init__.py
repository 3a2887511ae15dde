"""Backbones of your own: self-supervised pre-training on images without labels."""
