"""Caches in front of stores: they hold objects, and forward what changed when they are flushed."""
