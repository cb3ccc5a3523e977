"""What a task knows beside the rows of its stores, as it stands in the progress topic: the last record of its name."""

from __future__ import annotations

import msgspec

from millstream.errors import StateStoreError

_VERSION = 1


class TaskNote(msgspec.Struct, array_like=True, frozen=True):
    """The content of such a record.

    Args:
        version: of this layout.
        progress: see `millstream.task.progress`.
        clocks: of each store that has one, as a change: the key is always the same.
        changelogs: of each logged store, the id of the topic that has all of its changes; "" if none has.
    """

    version: int
    progress: bytes
    clocks: dict[str, tuple[bytes, bytes]]
    changelogs: dict[str, str]


def encode(progress: bytes, clocks: dict[str, tuple[bytes, bytes]], changelogs: dict[str, str]) -> bytes:
    """A note as the value of a record."""
    return msgspec.msgpack.encode(TaskNote(_VERSION, progress, clocks, changelogs))


def decode(value: bytes) -> TaskNote:
    """The note in a record.

    Raises:
        StateStoreError: it is damaged, or of a later release.
    """
    try:
        note = msgspec.msgpack.decode(value, type=TaskNote)
    except msgspec.MsgspecError as error:
        raise StateStoreError("a task's note in Kafka cannot be read", detail=str(error)) from error
    if note.version != _VERSION:
        raise StateStoreError(
            "a task's note in Kafka has an unknown layout",
            detail=f"version {note.version}; this release reads {_VERSION}",
            hint="it was written by a later release of Millstream",
        )
    return note
