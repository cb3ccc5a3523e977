"""Tasks of the engine on plain Kafka clients: a loop that reads, processes and commits."""
