"""What users call: streams, tables and the options of their operators."""
