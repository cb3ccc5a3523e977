"""Writing to Kafka so that nothing is lost without a word: transactions, and records that Kafka refuses."""
