"""Methods: one recipe a file."""
