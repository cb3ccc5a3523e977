"""What a restart needs: the checkpoint, the state files of tasks, the markers in Kafka."""
