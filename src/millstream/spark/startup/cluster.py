"""Before the first record on a cluster: are there executors, and do they have what they need?"""

from __future__ import annotations

import logging
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version

from pyspark.sql import SparkSession

from millstream.config import Setting
from millstream.errors import StreamsError
from millstream.spark.startup.session import lanes_of
from millstream.spark.state.checkpoint import Checkpoint

log = logging.getLogger("millstream.client")

_LOOK_SECONDS = 0.1
#: Executors of a cold cluster come one after the other; when none has come for so long, these are all.
_SETTLED_SECONDS = 2.0
_SAY_SECONDS = 30.0
_PACKAGE = "millstream"
#: What Python says where it is not there, or lies about in a way that nobody has installed.
_MISSING = (f"No module named '{_PACKAGE}'", f"No package metadata was found for {_PACKAGE}")
_BRING = (
    "install it on all machines in this version, or ship an environment that has it: "
    "--archives env.tar.gz#environment --spark spark.pyspark.python=./environment/bin/python"
)


#: An executor's host, its version of Millstream, and what is wrong there.
_Seen = tuple[str, str, str | None]


def wait_for_executors(session: SparkSession) -> None:
    """Wait until there are executors, and no more come for a moment: batches have as many lanes as there are cores."""
    begun = said = since = time.monotonic()
    count = 0
    while count == 0 or time.monotonic() < since + _SETTLED_SECONDS:
        found = _executors(session)
        if found != count:
            count, since = found, time.monotonic()
        if count == 0 and time.monotonic() > said + _SAY_SECONDS:
            said = time.monotonic()
            master = session.sparkContext.master
            log.warning("waiting for executors of %s since %.0f s: has it free cores?", master, said - begun)
        time.sleep(_LOOK_SECONDS)


def check_executors(session: SparkSession) -> None:
    """See that Millstream is there in the same version.

    Args:
        session: Spark.

    Raises:
        StreamsError: it is not.
    """
    _check_versions(_seen(session, _look))


def check_checkpoint(session: SparkSession, location: str, spark: Mapping[str, Setting]) -> None:
    """See that Millstream is there in the same version, and the checkpoint is the same place as here.

    Args:
        session: Spark.
        location: of the checkpoint.
        spark: properties of Spark, with the settings of stores.

    Raises:
        StreamsError: it is not.
    """
    checkpoint, name = Checkpoint(location, spark), f"probe-{uuid.uuid4().hex}.json"
    checkpoint.write(name, {"written-by": socket.gethostname()})
    try:
        seen = _seen(session, _LookForNote(location, name, spark))
    finally:
        checkpoint.remove(name)
    _check_versions(seen)
    if blind := sorted({host for host, _, problem in seen if problem is not None}):
        problem = next(problem for _, _, problem in seen if problem is not None)
        raise StreamsError(
            "Spark's executors do not see the checkpoint",
            detail=f"{location} is another place on {', '.join(blind)}: {problem}",
            hint="set checkpoint_location to a place that driver and executors share: a mounted file system, hdfs:// "
            "or s3://; or processing_mode to 'continuous', which needs none",
        )


def _seen(session: SparkSession, look: Callable[[Iterable[int]], Iterator[_Seen]]) -> list[_Seen]:
    """What is found on executors.

    Raises:
        StreamsError: they have no Millstream.
    """
    count = 2 * lanes_of(session)
    try:
        return list(session.sparkContext.parallelize(range(count), count).mapPartitions(look).collect())
    except Exception as error:  # Spark's own, whatever they are
        if not any(missing in str(error) for missing in _MISSING):
            raise
        raise StreamsError(
            "Millstream is not installed on Spark's executors",
            detail=f"their Python does not know the package {_PACKAGE}",
            hint=_BRING,
        ) from error


def _check_versions(seen: list[_Seen]) -> None:
    own = version(_PACKAGE)
    if others := sorted({f"{theirs} on {host}" for host, theirs, _ in seen if theirs != own}):
        raise StreamsError(
            "Spark's executors have another version of Millstream",
            detail=f"{own} here, {', '.join(others)}",
            hint=_BRING,
        )


def _look(_: Iterable[int]) -> Iterator[_Seen]:
    yield socket.gethostname(), version(_PACKAGE), None


class _LookForNote:
    """Looks for a note of a checkpoint, on an executor.

    Args:
        location: of the checkpoint.
        name: of the note.
        spark: properties of Spark.
    """

    def __init__(self, location: str, name: str, spark: Mapping[str, Setting]) -> None:
        self._location = location
        self._name = name
        self._spark = dict(spark)

    def __call__(self, _: Iterable[int]) -> Iterator[_Seen]:
        problem = None
        try:
            if Checkpoint(self._location, self._spark).read(self._name) is None:
                problem = "what the driver wrote is not there"
        except StreamsError as error:
            problem = f"{error.primary} ({error.detail})"
        yield socket.gethostname(), version(_PACKAGE), problem


def _executors(session: SparkSession) -> int:
    """How many there are; the driver is counted with them."""
    return int(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1
