"""Topologies that somebody looks at for a while: tasks in this process, state in memory, nothing written to Kafka."""
