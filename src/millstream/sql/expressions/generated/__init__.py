"""Expressions as Python functions: code is generated and compiled, once per query."""
