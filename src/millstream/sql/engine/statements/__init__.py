"""What statements do: one handler for each kind, and what they share."""
