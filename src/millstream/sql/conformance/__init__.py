"""Runs ksqlDB's own functional tests against the engine: `python -m millstream.sql.conformance DIR...`."""
