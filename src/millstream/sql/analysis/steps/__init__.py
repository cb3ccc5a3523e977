"""Rows on their way: each function gives them one more step of the plan."""
