"""AVRO."""
