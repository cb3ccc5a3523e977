"""What statements answer: entities, descriptions of sources and queries, texts."""
