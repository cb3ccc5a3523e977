"""Commands around a ksqlDB service."""
