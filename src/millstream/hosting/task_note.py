"""What a task knows beside the rows of its stores, as it stands in the progress topic: the last record of its name."""

from __future__ import annotations

import msgspec

from millstream.layouts import Versioned, decode_versioned

_VERSION = 1


class TaskNote(Versioned, array_like=True, frozen=True):
    """The content of such a record.

    Args:
        progress: see `millstream.task.saving.progress`.
        clocks: of each store that has one, as a change: the key is always the same.
        changelogs: of each logged store, the id of the topic that has all of its changes; "" if none has.
    """

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
    return decode_versioned(value, TaskNote, _VERSION, "a task's note in Kafka")
