"""The paper's tables, each as one command: which runs they need, carrying those out, and what came of them."""
