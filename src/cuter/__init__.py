"""Multi-label online continual learning."""

__version__ = "0.1.0"
