"""How well it learns."""
