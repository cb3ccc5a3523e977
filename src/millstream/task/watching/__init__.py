"""Watching tasks for a while: records and time of each node, seen from outside."""
