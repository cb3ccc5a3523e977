"""Operators below a table: their values are `Change` tuples."""
