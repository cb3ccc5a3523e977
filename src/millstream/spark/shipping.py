"""Sending an application to its lanes."""

from __future__ import annotations

import gc
import pickle

import cloudpickle  # not PySpark's copy: a lane would have to import PySpark to read it

from millstream.spark.program import Program

#: The name of the file in which the driver keeps the program as long as it runs.
PROGRAM = "program"
_MSGSPEC_CACHE = "__msgspec_cache__"


def shipped(program: Program) -> bytes:
    """A program as bytes: functions and classes of the user's script go along by value, as everywhere in Spark."""
    for kind in gc.get_objects():
        # msgspec notes on a dataclass what it found out about it, and cannot be sent; it finds it out again.
        if isinstance(kind, type) and _MSGSPEC_CACHE in vars(kind):
            delattr(kind, _MSGSPEC_CACHE)
    data: bytes = cloudpickle.dumps(program)
    return data


def unpacked(data: bytes) -> Program:
    """The program that the driver sent; nobody else can reach a lane's socket, or Spark's workers."""
    program: Program = pickle.loads(data)  # noqa: S301 - see above
    return program
