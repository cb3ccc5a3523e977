"""What a task does about exceptions: where they came from, and what the handlers want."""
