"""Where persistent queries run and topics are: Spark and Kafka, or test drivers and memory."""
