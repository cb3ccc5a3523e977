"""From trees of the grammar to the statements, queries, expressions and types they mean."""
