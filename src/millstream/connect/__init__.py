"""Kafka Connect: asking a worker over REST, and running one on this machine."""
