"""What is written on a shipped program: all that Spark's workers must know of it, without unpacking it."""

from __future__ import annotations

import os
import secrets
import struct
import sys

import msgspec

from millstream.spark.calls.lane_log import levels

_LENGTH = struct.Struct(">I")
_SECRET_BYTES = 32


class Label(msgspec.Struct, frozen=True):
    """The label of a program.

    Args:
        secret: known to the driver, to Spark's workers and to lanes, and to nobody else.
        hash_seed: Python's seed of hashes, the same in every lane: functions may depend on it, and state on them.
        max_poll_seconds: for how long a lane may be at one record.
        log_levels: of the driver's loggers by name, as lanes are to have them.
        module_path: where the driver finds modules.
    """

    secret: bytes
    hash_seed: str
    max_poll_seconds: float
    log_levels: dict[str, int]
    module_path: tuple[str, ...] = ()


def new_label(max_poll_seconds: float) -> Label:
    """The label of a new run."""
    path = tuple(entry for entry in sys.path if entry)
    return Label(secrets.token_bytes(_SECRET_BYTES), _hash_seed(), max_poll_seconds, levels(), path)


def labelled(label: Label, program: bytes) -> bytes:
    """A program with its label."""
    text = msgspec.msgpack.encode(label)
    return _LENGTH.pack(len(text)) + text + program


def label_of(data: bytes) -> Label:
    """The label of a program."""
    start, end = _ends(data)
    return msgspec.msgpack.decode(memoryview(data)[start:end], type=Label)


def without_label(data: bytes) -> memoryview:
    """The program itself."""
    return memoryview(data)[_ends(data)[1] :]


def _ends(data: bytes) -> tuple[int, int]:
    return _LENGTH.size, _LENGTH.size + int(_LENGTH.unpack_from(data)[0])


def _hash_seed() -> str:
    """The driver's, if it has one of its own; else that which Spark gives its workers. The same after a restart."""
    given = os.environ.get("PYTHONHASHSEED", "")
    return given if given.isdigit() else "0"
