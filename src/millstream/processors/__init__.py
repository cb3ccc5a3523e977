"""Operators, one file each, and the contract by which a task runs them."""
