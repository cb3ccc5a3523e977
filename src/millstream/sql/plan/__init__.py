"""What a query does, step by step: the seam between analysis and the topology."""
