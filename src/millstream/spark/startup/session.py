"""The Spark session of an application."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from millstream.config import StreamsConfig, is_secret
from millstream.spark.failures import is_news
from millstream.spark.startup import class_archive
from millstream.spark.startup.connect import refuse_connect
from millstream.spark.startup.log_file import OPTION, log_file, start_is_logged
from millstream.spark.startup.masters import QUICK_JVM, check_master, check_speculation, cores_here, remote_defaults
from millstream.spark.startup.masters import is_here as is_here
from millstream.spark.startup.s3_client import s3_properties
from millstream.spark.startup.signals import signals_are_the_drivers
from millstream.spark.state.checkpoint import checkpoint_location

_MASTER, _NAME, _PROGRESS = "spark.master", "spark.app.name", "spark.ui.showConsoleProgress"
_DRIVER_JVM, _DRIVER_DEFAULT = "spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"
#: On this machine Spark may run so many tasks more than an application has lanes. Lanes of SQL keep theirs as long as
#: they run; what else runs in this process would wait for them for ever. A task that is not there takes nothing.
_SPARE_TASKS = 64

_WORKER_PYTHON = Path(__file__).with_name("worker_python.sh")
_LOGGING = Path(__file__).with_name("log4j2.properties")

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.pyspark.binaryAsBytes": "true",
    _PROGRESS: "false",
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


def spark_session(config: StreamsConfig, given: SparkSession | None = None) -> SparkSession:
    """The session of this process, made if there is none.

    Args:
        config: where and how Spark runs. Without `master` it is where spark-submit says, if that has started this
            process, else on this machine.
        given: the session to use.

    Raises:
        MillstreamError: it is of Spark Connect, or something is missing for such a master.
    """
    stored = {} if config.processing_mode == "continuous" else s3_properties(checkpoint_location(config), config.spark)
    told = {name: str(value) for name, value in config.spark.items()} | stored
    keys = {name: told.pop(name) for name in list(told) if name.startswith(_HADOOP) and is_secret(name)}
    refuse_connect(given, told)
    active = given or SparkSession.getActiveSession()
    if active is not None:
        context = active.sparkContext
        check_speculation(str(context.master), dict(context.getConf().getAll()))
        _use_this_python(active)
        return active
    master = config.master or (None if is_submitted() else config.spark_master)
    if master is not None:
        check_master(master)
    local = not is_submitted() and cores_here(str(master)) is not None
    _choose_python(told.get("spark.pyspark.python"), local=local)
    file = log_file(config) if local and not _has_own_files() else None
    with signals_are_the_drivers(local=local), start_is_logged(file):
        # On this machine the JVM is started with all that it is told: it must be there soon, and nobody else tells it.
        known = {} if local else _known_to_spark(master, told)
        settings = _settings(config, master or known[_MASTER], known | told, file)
        check_speculation(settings[_MASTER], settings)
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for name, value in keys.items():
        session.sparkContext._jsc.hadoopConfiguration().set(name.removeprefix(_HADOOP), value)
    logging.getLogger("py4j.clientserver").addFilter(is_news)
    if local and config.processing_mode == "micro_batch":
        threading.Thread(target=_warm_up, args=(session,), name="warm-up", daemon=True).start()
    return session


def is_submitted() -> bool:
    """Whether spark-submit has started this process: its JVM is there already, and has its settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _known_to_spark(master: str | None, told: Mapping[str, str]) -> dict[str, str]:
    """What Spark was told by us, by spark-submit or by spark-defaults.conf. Starts its JVM if need be."""
    conf = SparkConf(loadDefaults=False)
    # A JVM that is started for Python shows bars of progress unless it is told at once.
    start = {_PROGRESS: _DEFAULTS[_PROGRESS], **({} if master is None else {_MASTER: master})}
    if not _has_own_files() and _DRIVER_DEFAULT not in told:  # a JVM with two collectors does not start
        start[_DRIVER_JVM] = " ".join([QUICK_JVM, *class_archive.options_to_use()])
    start |= told
    for name, value in start.items():
        conf.set(name, value)
    SparkContext._ensure_initialized(conf=conf)
    return dict(SparkConf().getAll())


def _settings(config: StreamsConfig, master: str, known: Mapping[str, str], file: Path | None) -> dict[str, str]:
    """What Spark is told: what it knows stays as it is.

    Args:
        config: the application's.
        master: where.
        known: what users have said, here or elsewhere.
        file: where a JVM that is still to be started logs.
    """
    # spark-submit knows a name, too: that of the script.
    here, placed = cores_here(master), {_MASTER: master, _NAME: str(config.spark.get(_NAME, config.application_id))}
    if here is not None:
        cores, tries = here
        placed[_MASTER] = f"local[{cores + _SPARE_TASKS},{tries}]"
        jvm = [QUICK_JVM, *_logging(file), *class_archive.options_to_use()]
        usual = {"spark.default.parallelism": str(cores), _DRIVER_JVM: " ".join(jvm)}
        if file is not None:
            usual[OPTION] = str(file)
    else:
        usual = {} if is_here(master) else remote_defaults(master, config, known)
    return _DEFAULTS | (_LOOPBACK if is_here(master) else {}) | usual | dict(known) | placed


def _warm_up(session: SparkSession) -> None:
    """Go the way of a batch's results once: the first time it is slow, and now the JVM only waits for processes."""
    with contextlib.suppress(Exception):  # somebody stopped the session
        session.createDataFrame([(0, b""), (1, b"")], "lane int, parcel binary").repartition(2, "lane").collect()


def _has_own_files() -> bool:
    """Whether somebody may have configured Spark by files: what it logs, how its JVM is started."""
    return bool(os.environ.keys() & {"SPARK_CONF_DIR", "SPARK_HOME"})


def _logging(file: Path | None) -> list[str]:
    """Spark's log: an error that the application tells is not told five times more."""
    if file is None:
        return []
    return [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}", f'"-Dmillstream.log={file}"']


def _choose_python(wanted: str | None = None, *, local: bool) -> None:
    """Have Spark's processes use this Python unless told otherwise; those on this machine start it in a quicker way.

    Those on this machine find the modules that this process finds: what lies beside the file that was started, too.
    """
    if local:
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    if wanted is not None or "PYSPARK_PYTHON" not in os.environ:
        quick = local and os.access(_WORKER_PYTHON, os.X_OK)
        os.environ["MILLSTREAM_PYTHON"] = sys.executable
        # spark-submit heeds the setting; a process that starts Spark itself has to.
        os.environ["PYSPARK_PYTHON"] = wanted or (str(_WORKER_PYTHON) if quick else sys.executable)


def _use_this_python(session: SparkSession) -> None:
    """Have a session on this machine use this Python, if nobody has said which: Spark takes the first on the path."""
    context = session.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and is_here(str(context.master)):
        context.pythonExec = sys.executable


def lanes_of(session: SparkSession) -> int:
    """How many lanes to use: one for each core that Spark has."""
    return max(1, session.sparkContext.defaultParallelism)
