"""How Spark's workers reach a lane: its process, its socket, and the proof that both belong to the run."""
