"""The syntax tree: what the parser makes of text, typed and immutable."""
