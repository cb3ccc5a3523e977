"""The Spark session of an application."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig

#: A failed task is tried again; Spark's local mode would not do that by itself.
_LOCAL_TRIES = 4

#: Spark's own JVM plans small batches and passes little on: the quick compiler alone, and no threads that collect.
_LOCAL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.pyspark.binaryAsBytes": "true",
    "spark.ui.showConsoleProgress": "false",
    # Spark's default forks processes for every file of a local checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.stopTimeout": "60s",
}


def spark_session(config: StreamsConfig) -> SparkSession:
    """The session of this process, made if there is none."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = _master(config)
    builder = SparkSession.builder.appName(config.application_id).master(master)
    local = {"spark.driver.extraJavaOptions": _LOCAL_JVM} if master.startswith("local[") else {}
    for name, value in {**_DEFAULTS, **local, **{key: str(value) for key, value in config.spark.items()}}.items():
        builder = builder.config(name, value)
    before = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGINT, before)  # Spark's own handler cancels the running batch
    session.sparkContext.setLogLevel("ERROR")
    return session


def lanes_of(session: SparkSession) -> int:
    """How many lanes to use: one for each core that Spark has."""
    return max(1, session.sparkContext.defaultParallelism)


def _master(config: StreamsConfig) -> str:
    if config.master is None:
        return f"local[{config.num_stream_threads},{_LOCAL_TRIES}]"
    plain = re.fullmatch(r"local\[(\d+|\*)\]|local", config.master)
    if plain:
        return f"local[{plain.group(1) or 1},{_LOCAL_TRIES}]"
    return config.master
