"""A query as it was written, taken apart and checked: names settled, sources found, what is selected."""
