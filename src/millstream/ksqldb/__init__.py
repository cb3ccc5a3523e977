"""A ksqlDB service: statements, queries and rows of clients, over HTTP and a topic of commands."""
