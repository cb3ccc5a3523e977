"""Aggregates. None changes an aggregate it was given: stores and caches still hold it."""
