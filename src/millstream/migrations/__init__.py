"""Migrations: numbered files of SQL that a server is brought up to date with, as ksqlDB's `ksql-migrations` does it."""
