"""Programs that run on Java: finding Java, fetching jars, processes that end with their owner or live on."""
