"""Streams and tables, plain, grouped and windowed: each gives others, so they know each other."""
