"""Joins: their conditions, the tree they form, what is checked, and their nodes."""
