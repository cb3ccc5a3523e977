"""Functions of any type."""
