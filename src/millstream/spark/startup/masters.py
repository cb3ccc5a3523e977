"""What Spark needs to be told for each kind of master: this machine, a standalone cluster, Kubernetes, YARN."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from ipaddress import ip_address

from millstream.config import StreamsConfig
from millstream.errors import ArgumentError

#: A failed task is tried again; Spark's local mode would not do that by itself.
_LOCAL_TRIES = 4
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:\s*,\s*(\d+))?\])?")
_KINDS = ("local", "spark://", "k8s://", "yarn")

_MEGABYTE = 1024 * 1024
#: What a lane takes before it has a row: itself, Spark's worker beside it, what its consumer has read ahead.
LANE_BASE_BYTES = 384 * _MEGABYTE
#: What Spark adds to an executor's heap by itself, which is what the JVM takes beside it.
_JVM_LEAST_BYTES = 384 * _MEGABYTE
_JVM_SHARE = 0.1
_OVERHEAD = "spark.executor.memoryOverhead"
#: Who has set one of these has thought about Python's memory.
_SAID_BY_USER = (
    _OVERHEAD,
    "spark.executor.memoryOverheadFactor",
    "spark.executor.pyspark.memory",
    "spark.kubernetes.memoryOverheadFactor",
)
#: Spark's own JVMs plan small batches and pass little on: the quick compiler alone, and no threads that collect.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SPECULATION = "spark.speculation"
_EXECUTOR_JVM = ("spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions")
_NO_TCP = "spark.python.unix.domain.socket.enabled"
_IMAGES = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)


def is_here(master: str) -> bool:
    """Whether all of Spark's processes are on this machine."""
    return master.startswith("local")


def cores_here(master: str) -> tuple[int, int] | None:
    """How many cores a master on this machine has, and how often it tries a task; None if it is elsewhere.

    >>> cores_here("local[4]"), cores_here("local[2, 8]"), cores_here("spark://host:7077")
    ((4, 4), (2, 8), None)
    """
    found = _LOCAL.fullmatch(master)
    if found is None:
        return None
    cores, tries = found.groups()
    return (os.cpu_count() or 1) if cores == "*" else int(cores or 1), int(tries or _LOCAL_TRIES)


def check_master(master: str) -> None:
    """Refuse what Spark would refuse later and in its own way.

    Raises:
        ArgumentError: there is no such master, or YARN's settings are missing.
    """
    if master.startswith("sc://"):
        raise ArgumentError(
            f"master cannot be {master!r}",
            detail="that is Spark Connect, which Millstream cannot use",
            hint="give the address of the cluster itself, such as 'spark://host:7077'",
        )
    if not master.startswith(_KINDS):
        raise ArgumentError(
            f"master cannot be {master!r}",
            hint="give 'local[4]', 'spark://host:7077', 'k8s://https://host:6443' or 'yarn'",
        )
    if master == "yarn" and not os.environ.keys() & {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}:
        raise ArgumentError(
            "YARN cannot be found",
            detail="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set",
            hint="set HADOOP_CONF_DIR to the directory that has yarn-site.xml and core-site.xml",
        )


def check_speculation(master: str, known: Mapping[str, str]) -> None:
    """Refuse to have tasks run twice at the same time: a lane would be ended by its own copy, again and again.

    Args:
        master: of Spark.
        known: what Spark was told.

    Raises:
        ArgumentError: it was told so.
    """
    if not is_here(master) and known.get(_SPECULATION, "false").lower() == "true":
        raise ArgumentError(
            f"{_SPECULATION} is true",
            detail="Spark would start a second copy of a lane that takes long, which shuts the first one out",
            hint=f"set {_SPECULATION} to false for this application: --spark {_SPECULATION}=false",
        )


def remote_defaults(master: str, config: StreamsConfig, known: Mapping[str, str]) -> dict[str, str]:
    """What executors elsewhere need, as far as nobody has said it.

    Args:
        master: not on this machine.
        config: the application's.
        known: what Spark was told by the configuration, spark-submit or its own files.

    Raises:
        ArgumentError: something is missing that nobody else can know.
    """
    found: dict[str, str] = {}
    if not known.keys() & set(_EXECUTOR_JVM):  # a JVM with two collectors does not start
        found[_EXECUTOR_JVM[0]] = QUICK_JVM
    # Of each task, TCP between the JVM and its Python worker takes 30 ms. YARN's directories are too long for sockets.
    if config.processing_mode == "micro_batch" and master != "yarn":
        found[_NO_TCP] = "true"
    if not any(name in known for name in _SAID_BY_USER):
        found[_OVERHEAD] = f"{overhead_bytes(config, known) // _MEGABYTE}m"
    if master.startswith("k8s://"):
        if not any(name in known for name in _IMAGES):
            raise ArgumentError(
                "executors on Kubernetes need an image",
                hint=f"set {_IMAGES[0]} to one that has Millstream, such as that of deploy/Dockerfile: "
                f"spark={{{_IMAGES[0]!r}: 'registry/millstream:tag'}}, or --spark {_IMAGES[0]}=registry/millstream:tag",
            )
        # The name of a pod means nothing to other pods, its address does; and that of a service cannot be bound.
        found["spark.driver.bindAddress"] = "0.0.0.0"  # noqa: S104
        if "spark.driver.host" not in known and (address := _own_address()) is not None:
            found["spark.driver.host"] = address
    return {name: value for name, value in found.items() if name not in known}


def overhead_bytes(config: StreamsConfig, known: Mapping[str, str]) -> int:
    """What an executor takes beside its JVM's heap: its lanes, one for each core, and what the JVM itself needs."""
    lanes = int(known.get("spark.executor.cores", 1))
    heap = size_bytes(known.get("spark.executor.memory", "1g"))
    lane = LANE_BASE_BYTES + config.statestore_memory_max_bytes + config.statestore_cache_max_bytes
    return lanes * lane + max(_JVM_LEAST_BYTES, int(heap * _JVM_SHARE))


def size_bytes(text: str) -> int:
    """A size as Spark writes it; without a unit it is in megabytes, as an executor's memory is.

    >>> size_bytes("2g"), size_bytes("512m"), size_bytes("512")
    (2147483648, 536870912, 536870912)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ArgumentError(f"{text!r} is no size", hint="write it as Spark does: 512m, 4g")
    return int(found[1]) * _UNITS[found[2].lower() or "m"]


def _own_address() -> str | None:
    """This machine's, as others know it; None if only Spark can find out."""
    try:
        found = socket.gethostbyname(socket.gethostname())
    except OSError:
        return None
    return None if ip_address(found).is_loopback else found
