"""A model in use: its versions, tagging files, teaching, evaluating, forgetting."""
