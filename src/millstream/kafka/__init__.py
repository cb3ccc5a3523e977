"""Kafka itself: clients, administration, the partitioner, and a broker for development."""
