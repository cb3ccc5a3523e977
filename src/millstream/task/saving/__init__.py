"""What a task remembers beside its stores, for a task elsewhere that goes on from there."""
