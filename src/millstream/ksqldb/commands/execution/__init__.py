"""Checking, planning and executing statements: the same on every server, now and in a replay."""
