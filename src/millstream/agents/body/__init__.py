"""What runs inside a task: an agent's function, the stream it loops over, and what it may ask for on the way."""
