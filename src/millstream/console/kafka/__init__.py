"""Topics and dead letters: what any console shows of Kafka."""
