"""Running an application: on Spark and Kafka, with its timers, tasks and pages in the process that was started."""
