"""Sending an application to its lanes."""

from __future__ import annotations

import gc

from pyspark import cloudpickle

from millstream.spark.program import Program

_MSGSPEC_CACHE = "__msgspec_cache__"


def shipped(program: Program) -> bytes:
    """A program as bytes: functions and classes of the user's script go along by value, as everywhere in Spark."""
    for kind in gc.get_objects():
        # msgspec notes on a dataclass what it found out about it, and cannot be sent; it finds it out again.
        if isinstance(kind, type) and _MSGSPEC_CACHE in vars(kind):
            delattr(kind, _MSGSPEC_CACHE)
    data: bytes = cloudpickle.dumps(program)  # type: ignore[no-untyped-call]
    return data
