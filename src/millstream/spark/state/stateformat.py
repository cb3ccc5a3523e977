"""The bytes of a state file.

    magic          4  "MSF2"
    header            kind (1 byte: 1 changes, 2 base, 3 merged), batch (8) and wave (4) of its version, batch and wave
                      of its predecessor (-1 and 0: there is none), length of the task's id (2), the id; checksum
    frames            kind (1: 1 store, 2 progress, 3 end), length of the name (2), length of the data (8); checksum;
                      name, data; checksum

A store's data is a change segment (`millstream.state.segments`). The progress comes after all stores, then the end: how
many frames there were before it (8), and how long the whole file is (8).

Numbers are big-endian. Every checksum is the CRC-32 of all bytes from the beginning of the file up to it, without the
checksums themselves. So the last one is that of the whole file, each byte is summed up once, a length is known to be
right before anything is allocated by it, and a frame before it is handed out, however long the file.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import IO, Any, NamedTuple

from millstream.errors import CheckpointDamaged, StateStoreError

MAGIC = b"MSF2"
_OLD_MAGIC = b"MSF1"
_HEADER = struct.Struct(">BqiqiH")
_FRAME = struct.Struct(">BHQ")
_END_DATA = struct.Struct(">QQ")
_CHECKSUM = struct.Struct(">I")
_STORE, _PROGRESS, _END = 1, 2, 3

HINT = (
    "restore it from a backup of the checkpoint; or move the checkpoint away, and it is rebuilt from Kafka; or start "
    "anew: `millstream reset`, or another application_id with another checkpoint_location"
)


class Version(NamedTuple):
    """How far a task has come."""

    batch: int
    wave: int


#: Before the first batch.
BEGINNING = Version(-1, 0)


class Kind(IntEnum):
    """What of a task is in a file."""

    #: What one wave changed.
    CHANGES = 1
    #: Everything there was after a wave.
    BASE = 2
    #: What several waves changed that followed each other.
    MERGED = 3


class Header(NamedTuple):
    """What a file is."""

    task: str
    kind: Kind
    version: Version
    #: The version of the file that comes before it; None for a task's first.
    predecessor: Version | None


def write(stream: IO[bytes] | Any, header: Header, parts: Iterable[tuple[str, bytes]], progress: bytes) -> int:
    """Write a file: segments by store, and the progress. Answers its size."""
    task = header.task.encode()
    packed = _HEADER.pack(header.kind, *header.version, *(header.predecessor or BEGINNING), len(task))
    checksum = zlib.crc32(MAGIC + packed + task)
    stream.write(MAGIC + packed + task + _CHECKSUM.pack(checksum))
    size = len(MAGIC) + len(packed) + len(task) + _CHECKSUM.size
    frames = 0

    def frame(kind: int, name: bytes, data: bytes) -> None:
        nonlocal checksum, size, frames
        head = _FRAME.pack(kind, len(name), len(data))
        of_head = zlib.crc32(head, checksum)
        checksum = zlib.crc32(data, zlib.crc32(name, of_head))
        stream.write(head + _CHECKSUM.pack(of_head) + name)
        stream.write(data)
        stream.write(_CHECKSUM.pack(checksum))
        size += _frame_size(len(name), len(data))
        frames += 1

    for store, data in parts:
        frame(_STORE, store.encode(), data)
    frame(_PROGRESS, b"", progress)
    frame(_END, b"", _END_DATA.pack(frames, size + _frame_size(0, _END_DATA.size)))
    return size


class Reader:
    """Reads a file, and checks it on the way.

    Iterating gives segments by store, each known to be right; only at the end it is known that nothing is missing, and
    what the progress was. Who uses them earlier has to throw away what came of it when the end is not reached.

    Args:
        stream: the file.
        size: how long it is.
        path: its name in errors.

    Raises:
        StateStoreError: it is damaged, or of another format.
    """

    def __init__(self, stream: IO[bytes] | Any, size: int, path: str) -> None:
        self._stream = stream
        self._left = self._size = size
        self._path = path
        self._checksum = 0
        magic = self._take(len(MAGIC))
        if magic == _OLD_MAGIC:
            raise StateStoreError(
                "the checkpoint is of an older format",
                detail=f"{path} was written by a Millstream that was never released",
                hint="start anew: `millstream reset`, or another checkpoint_location with another application_id",
            )
        if magic != MAGIC:
            raise self._damaged("it does not begin as a state file does")
        kind, batch, wave, batch_before, wave_before, length = _HEADER.unpack(self._take(_HEADER.size))
        task = self._take(length)
        self._check()
        if kind not in Kind._value2member_map_:
            raise self._damaged(f"it is of kind {kind}, which is not known here")
        predecessor = Version(batch_before, wave_before)
        self.header = Header(
            task.decode(), Kind(kind), Version(batch, wave), None if predecessor == BEGINNING else predecessor
        )
        self.progress = b""

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        frames = 0
        kind = _STORE
        while kind != _END:
            last = kind
            kind, name_length, length = _FRAME.unpack(self._take(_FRAME.size))
            self._check()
            name, data = self._take(name_length), self._take(length)
            self._check()
            if kind == _STORE:
                yield name.decode(), data
            elif kind == _PROGRESS:
                self.progress = data
            elif last != _PROGRESS or data != _END_DATA.pack(frames, self._size):
                raise self._damaged("parts of it are missing")
            frames += 1
        if self._left:
            raise self._damaged("there is more behind its end")

    def _take(self, length: int) -> bytes:
        if length > self._left:
            raise self._damaged(f"its {self._size} bytes are not all of it")
        try:
            data: bytes = self._stream.read(length)
        except OSError as error:
            raise unreadable(self._path, error) from error
        if len(data) < length:
            raise self._damaged(f"its {self._size} bytes cannot all be read")
        self._left -= length
        self._checksum = zlib.crc32(data, self._checksum)
        return data

    def _check(self) -> None:
        expected = self._checksum
        found = self._take(_CHECKSUM.size)
        self._checksum = expected
        if _CHECKSUM.unpack(found) != (expected,):
            raise self._damaged(f"a checksum does not fit, in the {self._size - self._left} bytes from its beginning")

    def _damaged(self, why: str) -> CheckpointDamaged:
        return damaged(self._path, why)


def damaged(path: str, why: str) -> CheckpointDamaged:
    """The error for a file that cannot be used."""
    return CheckpointDamaged("a state file is damaged", detail=f"{path}: {why}", hint=HINT)


class FileGone(StateStoreError):
    """A file that was listed is not there any more."""


def unreadable(path: str, error: OSError) -> StateStoreError:
    """The error for a file that the file system does not give."""
    kind = FileGone if isinstance(error, FileNotFoundError) else StateStoreError
    return kind("a state file cannot be read", detail=f"{path}: {error}", hint=HINT)


def _frame_size(name_length: int, length: int) -> int:
    return _FRAME.size + name_length + length + 2 * _CHECKSUM.size
