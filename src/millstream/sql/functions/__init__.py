"""Functions: what is built in, what users add, and how a call finds its variant."""
