"""The web console: a server's queries, tables and topics in a browser."""
