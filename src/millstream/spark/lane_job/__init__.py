"""Lanes for many queries, as one Spark job that does not end: Spark places them, and starts them anew."""
