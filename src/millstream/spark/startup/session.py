"""The Spark session of an application."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig, is_secret
from millstream.spark.failures import is_news
from millstream.spark.startup import class_archive
from millstream.spark.startup.log_file import OPTION, log_file, start_is_logged
from millstream.spark.startup.s3_client import s3_properties
from millstream.spark.startup.signals import signals_are_the_drivers
from millstream.spark.state.checkpoint import checkpoint_location

#: A failed task is tried again; Spark's local mode would not do that by itself.
_LOCAL_TRIES = 4
#: On this machine Spark may run so many tasks more than an application has lanes. Lanes of SQL keep theirs as long as
#: they run; what else runs in this process would wait for them for ever. A task that is not there takes nothing.
_SPARE_TASKS = 64

#: Spark's own JVM plans small batches and passes little on: the quick compiler alone, and no threads that collect.
LOCAL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_WORKER_PYTHON = Path(__file__).with_name("worker_python.sh")
_LOGGING = Path(__file__).with_name("log4j2.properties")

_DEFAULTS = {
    "spark.ui.enabled": "false",
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


#: Where everything is on this machine, nobody else can reach the driver. Executors elsewhere must: there Spark chooses
#: an address of this machine, unless it is told one.
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


#: Properties for Hadoop. Keys among them are told to the JVM when it runs: everybody can read a command line.
_HADOOP = "spark.hadoop."


def spark_session(config: StreamsConfig) -> SparkSession:
    """The session of this process, made if there is none."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    here = _local(config)
    _choose_python(local=here is not None)
    builder = SparkSession.builder.appName(config.application_id)
    placed, file = {"spark.master": str(config.master)}, None
    if is_here(config.spark_master):
        placed |= _LOOPBACK
    if here is not None:
        lanes, tries = here
        file = None if _has_own_logging() else log_file(config)
        jvm = " ".join([LOCAL_JVM, *_logging(file), *class_archive.options_to_use()])
        placed |= {
            "spark.master": f"local[{lanes + _SPARE_TASKS},{tries}]",
            "spark.driver.extraJavaOptions": jvm,
            "spark.default.parallelism": str(lanes),
            **({} if file is None else {OPTION: str(file)}),
        }
    stored = s3_properties(checkpoint_location(config), config.spark)
    given = {name: str(value) for name, value in config.spark.items()}
    keys = {name: given.pop(name) for name in list(given) if name.startswith(_HADOOP) and is_secret(name)}
    for name, value in {**_DEFAULTS, **placed, **given, **stored}.items():
        builder = builder.config(name, value)
    with signals_are_the_drivers(local=here is not None), start_is_logged(file):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for name, value in keys.items():
        session.sparkContext._jsc.hadoopConfiguration().set(name.removeprefix(_HADOOP), value)
    logging.getLogger("py4j.clientserver").addFilter(is_news)
    if here is not None:
        threading.Thread(target=_warm_up, args=(session,), name="warm-up", daemon=True).start()
    return session


def _warm_up(session: SparkSession) -> None:
    """Go the way of a batch's results once: the first time it is slow, and now the JVM only waits for processes."""
    with contextlib.suppress(Exception):  # somebody stopped the session
        session.createDataFrame([(0, b""), (1, b"")], "lane int, parcel binary").repartition(2, "lane").collect()


def _has_own_logging() -> bool:
    """Whether somebody has configured what Spark logs."""
    return bool(os.environ.keys() & {"SPARK_CONF_DIR", "SPARK_HOME"})


def _logging(file: Path | None) -> list[str]:
    """Spark's log: an error that the application tells is not told five times more."""
    if file is None:
        return []
    return [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}", f'"-Dmillstream.log={file}"']


def _choose_python(*, local: bool) -> None:
    """Have Spark's processes use this Python; those on this machine start it in a quicker way.

    Those on this machine find the modules that this process finds: what lies beside the file that was started, too.
    """
    if local:
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    if "PYSPARK_PYTHON" not in os.environ:
        quick = local and os.access(_WORKER_PYTHON, os.X_OK)
        os.environ["MILLSTREAM_PYTHON"] = sys.executable
        os.environ["PYSPARK_PYTHON"] = str(_WORKER_PYTHON) if quick else sys.executable


def is_here(master: str) -> bool:
    """Whether all of Spark's processes are on this machine."""
    return master.startswith("local")


def lanes_of(session: SparkSession) -> int:
    """How many lanes to use: one for each core that Spark has."""
    return max(1, session.sparkContext.defaultParallelism)


def _local(config: StreamsConfig) -> tuple[int, int] | None:
    """How many lanes an application has on this machine, and tries a task; None if its master is elsewhere."""
    if config.master is None:
        return config.num_stream_threads, _LOCAL_TRIES
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:\s*,\s*(\d+))?\])?", config.master)
    if found is None:
        return None
    lanes, tries = found.groups()
    return (os.cpu_count() or 1) if lanes == "*" else int(lanes or 1), int(tries or _LOCAL_TRIES)
