"""Where tasks keep their state between batches: files of changes beside Spark's checkpoint.

    <checkpoint>/millstream/state/<task>/<batch>-<wave>.changes     what one wave of one batch changed
    <checkpoint>/millstream/state/<task>/<batch>-<wave>.base        everything there was after it

A task as it was before (batch, wave) is the latest base before it and all changes after that base. A file is written
under another name and moved, so it is there as a whole or not at all. A batch that is run again writes the same files
again. Bases are written when the changes since the last one outgrow it.

A file is a magic number, then chunks: kind (1 byte: 1 store, 2 progress), length of the name (2), length of the data
(8), name, data. A store's data is a change segment (`millstream.state.segments`); the last chunk is the progress.
"""

from __future__ import annotations

import contextlib
import posixpath
import struct
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, NamedTuple

from pyarrow import fs

from millstream.errors import StateStoreError
from millstream.state import segments

MAGIC = b"MSF1"
_CHUNK = struct.Struct(">BHQ")
_STORE, _PROGRESS = 1, 2
_ENTRIES_A_CHUNK = 20_000
#: Changes smaller than this are never worth a base.
_LEAST_CHANGES = 4 * 1024 * 1024
_MOST_FILES = 60
_UNFINISHED = ".tmp"


class Version(NamedTuple):
    """How far a task has come."""

    batch: int
    wave: int


#: Before the first batch.
BEGINNING = Version(-1, 0)


def filesystem(location: str) -> tuple[fs.FileSystem, str]:
    """The file system of a checkpoint location, and the path in it."""
    if "://" in location or location.startswith("file:"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(location)
        return found
    return fs.LocalFileSystem(), location


@dataclass
class StateFiles:
    """The state files of one task."""

    file_system: fs.FileSystem
    directory: str
    #: The version of the last file that was written or restored.
    last: Version | None = field(default=None, init=False)
    _base_bytes: int = field(default=0, init=False)
    _changes_bytes: int = field(default=0, init=False)
    _files: int = field(default=0, init=False)

    def write_changes(
        self, version: Version, changes: Mapping[str, Mapping[bytes, bytes | None]], progress: bytes
    ) -> int:
        """Write what a wave changed; answers the size."""
        parts = ((store, segments.encode(entries)) for store, entries in changes.items())
        size = self._write(f"{_name(version)}.changes", parts, progress)
        self._changes_bytes += size
        self._files += 1
        return size

    @property
    def needs_base(self) -> bool:
        """Whether the changes have outgrown the base."""
        return self._files >= _MOST_FILES or self._changes_bytes > max(self._base_bytes, _LEAST_CHANGES)

    def write_base(
        self, version: Version, stores: Mapping[str, Iterable[tuple[bytes, bytes]]], progress: bytes
    ) -> None:
        """Write everything a task has after a wave."""
        parts = ((store, chunk) for store, entries in stores.items() for chunk in _chunks(entries))
        self._base_bytes = self._write(f"{_name(version)}.base", parts, progress)
        self._changes_bytes = 0
        self._files = 0

    def since(self, known: Version, before: Version) -> Iterator[tuple[Version, bool, str]]:
        """The files to read for a task at `known` to be as it was before `before`: version, is it a base, name.

        Nothing if it is up to date; from a base on if it is too far behind for changes alone.
        """
        files = sorted(self._list())
        usable = [entry for entry in files if entry[0] < before]
        bases = [entry for entry in usable if entry[1]]
        if bases and bases[-1][0] > known:
            latest = bases[-1]
            oldest_change = min((entry[0] for entry in usable if not entry[1]), default=None)
            if known == BEGINNING or oldest_change is None or oldest_change > known:
                known = latest[0]
                yield latest
        yield from (entry for entry in usable if not entry[1] and entry[0] > known)

    def restored(self, names: Iterable[str]) -> None:
        """Count what was read as if it had been written here, so that a base comes when it is due."""
        self._base_bytes = self._changes_bytes = self._files = 0
        for info in self.file_system.get_file_info([posixpath.join(self.directory, name) for name in names]):
            if info.base_name.endswith(".base"):
                self._base_bytes, self._changes_bytes, self._files = info.size or 0, 0, 0
            else:
                self._changes_bytes += info.size or 0
                self._files += 1

    def read(self, name: str) -> tuple[list[tuple[str, bytes]], bytes]:
        """A file's segments by store, and the progress."""
        found: list[tuple[str, bytes]] = []
        progress = None
        path = posixpath.join(self.directory, name)
        with self.file_system.open_input_stream(path) as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise _damaged(path)
            while header := stream.read(_CHUNK.size):
                if len(header) < _CHUNK.size:
                    raise _damaged(path)
                kind, name_length, length = _CHUNK.unpack(header)
                store, data = stream.read(name_length).decode(), stream.read(length)
                if len(data) < length:
                    raise _damaged(path)
                if kind == _STORE:
                    found.append((store, data))
                else:
                    progress = data
        if progress is None:
            raise _damaged(path)
        return found, progress

    def forget_before(self, batch: int) -> None:
        """Remove what no restart can need: all files before the last base that is older than this batch."""
        files = sorted(self._list())
        bases = [version for version, is_base, _ in files if is_base and version.batch < batch]
        old = [name for version, _, name in files if bases and version < bases[-1]]
        for name in [*old, *self._unfinished(batch)]:
            with contextlib.suppress(FileNotFoundError):  # a lane that was given up may do the same
                self.file_system.delete_file(posixpath.join(self.directory, name))

    def _list(self) -> Iterator[tuple[Version, bool, str]]:
        selector = fs.FileSelector(self.directory, allow_not_found=True)
        for info in self.file_system.get_file_info(selector):
            stem, _, kind = info.base_name.partition(".")
            if kind in ("changes", "base"):
                batch, wave = stem.split("-")
                yield Version(int(batch), int(wave)), kind == "base", info.base_name

    def _unfinished(self, before: int) -> list[str]:
        """What writers of earlier batches left when they were killed."""
        selector = fs.FileSelector(self.directory, allow_not_found=True)
        names = (info.base_name for info in self.file_system.get_file_info(selector))
        return [name for name in names if name.endswith(_UNFINISHED) and int(name.partition("-")[0]) < before]

    def _write(self, name: str, parts: Iterable[tuple[str, bytes]], progress: bytes) -> int:
        path = posixpath.join(self.directory, name)
        # A name of its own: a lane that was given up may still be writing the same file.
        temporary = f"{path}.{uuid.uuid4().hex}{_UNFINISHED}"
        try:
            self.file_system.create_dir(self.directory, recursive=True)
            with self.file_system.open_output_stream(temporary) as stream:
                size = len(MAGIC)
                stream.write(MAGIC)
                for store, data in parts:
                    size += _write_chunk(stream, _STORE, store, data)
                size += _write_chunk(stream, _PROGRESS, "", progress)
            self.file_system.move(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                self.file_system.delete_file(temporary)
            raise StateStoreError(
                "state cannot be written to the checkpoint",
                detail=f"{path}: {error}",
                hint="make room or give access there, then start the application again: it goes on with this batch",
            ) from error
        return size


def _write_chunk(stream: IO[bytes] | Any, kind: int, name: str, data: bytes) -> int:
    encoded = name.encode()
    stream.write(_CHUNK.pack(kind, len(encoded), len(data)) + encoded)
    stream.write(data)
    return _CHUNK.size + len(encoded) + len(data)


def _chunks(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    iterator = iter(entries)
    while chunk := dict(islice(iterator, _ENTRIES_A_CHUNK)):
        yield segments.encode(chunk)


def _name(version: Version) -> str:
    return f"{version.batch:012d}-{version.wave:03d}"


def _damaged(path: str) -> StateStoreError:
    return StateStoreError(
        "a state file is damaged",
        detail=f"{path} is not whole",
        hint="restore it from a backup, or start anew with another checkpoint_location",
    )
