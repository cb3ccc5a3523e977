"""Before the first batch: checks, signals, the Spark session, and what makes it start quickly."""
