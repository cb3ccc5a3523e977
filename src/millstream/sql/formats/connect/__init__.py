"""Kafka Connect's schemas: what the schemas of a registry are before they become columns."""
