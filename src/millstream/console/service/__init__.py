"""The console of a ksqlDB service."""
