"""Lanes: processes that share the tasks of many queries among them, with Kafka as their only common ground."""
