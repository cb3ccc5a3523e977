"""What the tasks of a lane write: in transactions, or at least once."""
