"""The ways to run an application on Spark: batch after batch, or continuously."""
