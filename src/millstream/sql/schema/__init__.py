"""Types, columns and schemas."""
