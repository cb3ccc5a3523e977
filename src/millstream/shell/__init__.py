"""The shell: statements that people type or keep in scripts, sent to a ksqlDB server; its answers as tables or JSON."""
