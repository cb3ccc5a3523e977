"""ksqlDB's language: statements become topologies of the DSL."""
