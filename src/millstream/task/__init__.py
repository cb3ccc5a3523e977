"""Tasks: part of a topology at work, in whatever hosts it. Knows neither Spark nor Kafka."""
