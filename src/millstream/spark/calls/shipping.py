"""Sending an application to its lanes."""

from __future__ import annotations

import pickle
import socket

import cloudpickle  # not PySpark's copy: a lane would have to import PySpark to read it

from millstream.errors import StreamsError
from millstream.spark.calls.label import labelled, new_label, without_label
from millstream.spark.calls.unshippable import explain, forget_msgspec_caches
from millstream.spark.program import Program

#: The name of the file in which the driver keeps the program as long as it runs.
PROGRAM = "program"


def shipped(program: Program) -> bytes:
    """A program as bytes: functions and classes of the user's script go along by value, as everywhere in Spark.

    Its label holds a new secret: whoever has these bytes, by Spark's own ways, may talk to the run's lanes.
    """
    forget_msgspec_caches()
    try:
        data: bytes = cloudpickle.dumps(program)
    except Exception as error:
        raise explain(program.topology, error, program.config) from error
    return labelled(new_label(program.config.max_poll_interval.total_seconds()), data)


def unpacked(data: bytes) -> Program:
    """The program that the driver sent: it came by Spark's ways, or from a client that knows the run's secret.

    Raises:
        StreamsError: it imports what is not on this machine.
    """
    try:
        program: Program = pickle.loads(without_label(data))  # noqa: S301 - see above
    except ModuleNotFoundError as error:
        raise StreamsError(
            f"module {error.name} is missing on {socket.gethostname()}",
            detail="the application's functions import it",
            hint="install it on all machines, or have Spark bring it there: --py-files, --archives",
        ) from error
    return program
