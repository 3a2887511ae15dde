"""Runs: configuration, run directory, resume."""
