"""Topics as both sides use them: reading ranges of offsets, and what an application writes."""
