"""Executes statements: definition, queries, inspection and control."""
