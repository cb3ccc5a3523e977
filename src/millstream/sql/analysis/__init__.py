"""From the syntax tree of a query to the steps that answer it."""
