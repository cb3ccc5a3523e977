"""What the tasks of a lane read."""
