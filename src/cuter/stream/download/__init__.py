"""Data sets from their public homes."""
