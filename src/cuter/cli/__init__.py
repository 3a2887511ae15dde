"""The command line: one file per command."""

from cuter.cli.app import app, main

__all__ = ["app", "main"]
