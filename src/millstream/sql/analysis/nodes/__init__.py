"""The logical plan: one node for each thing a query does, from the sources up."""
