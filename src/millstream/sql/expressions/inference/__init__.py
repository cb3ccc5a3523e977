"""The types of expressions: what calls mean, and what is converted to what."""
