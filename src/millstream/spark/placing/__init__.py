"""On a cluster: lanes stay on the executors that they are on, from batch to batch."""
