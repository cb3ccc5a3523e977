"""Where tasks keep their state between batches: files of changes beside Spark's checkpoint.

    <checkpoint>/millstream/state/<task>/<batch>-<wave>.changes     what one wave of one batch changed
    <checkpoint>/millstream/state/<task>/<batch>-<wave>.base        everything there was after it

A task as it was before (batch, wave) is the latest base before it and all changes after that base. A wave that changed
nothing leaves no file. A base has the version of the last changes in it, and is written when the changes since the last
one outgrow it.

The files of a task are a chain: each names the version of the one before it, so that a gap is seen. What is missing at
the end of the chain is seen from outside only: whoever reads may say how far it must go (`at_least`). A batch that is
run again writes the same files again, with the same predecessors; those that an earlier attempt left also tell where
the chain before them ends.

A file is written under another name and moved, so it is there as a whole or not at all; on a local disk, data and
directory are synced. `millstream.spark.state.stateformat` says what is in it.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from pyarrow import fs

from millstream.errors import CheckpointDamaged, StateStoreError
from millstream.spark.state import stateformat
from millstream.spark.state.stateformat import BEGINNING as BEGINNING
from millstream.spark.state.stateformat import HINT, Header, Reader, damaged, unreadable
from millstream.spark.state.stateformat import Version as Version
from millstream.state import segments
from millstream.state.store import LogEntry

#: Before the first batch, which is 1: the version of what was rebuilt from Kafka.
_ORIGIN = Version(0, 0)
_ENTRIES_A_CHUNK = 20_000
#: Changes smaller than this are never worth a base.
_LEAST_CHANGES = 4 * 1024 * 1024
_MOST_FILES = 60
_NAME = re.compile(r"(\d+)-(\d+)\.(changes|base)(\..*\.tmp)?")


class _File(NamedTuple):
    version: Version
    is_base: bool
    name: str
    size: int


def filesystem(location: str) -> tuple[fs.FileSystem, str]:
    """The file system of a checkpoint location, and the path in it."""
    if "://" in location or location.startswith("file:"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(location)
        return found
    return fs.LocalFileSystem(), location


@dataclass
class StateFiles:
    """The state files of one task, and how far the copy of the task is that they are read and written for."""

    file_system: fs.FileSystem
    directory: str
    #: The version of the last file that was written or read; None if there is none.
    last: Version | None = field(default=None, init=False)
    #: That of the file before it.
    _before_last: Version | None = field(default=None, init=False)
    _base_bytes: int = field(default=0, init=False)
    _changes_bytes: int = field(default=0, init=False)
    #: How many changes there are since the last base.
    _files: int = field(default=0, init=False)
    #: The batch of a base that makes older files useless; they are there until nothing can go back behind it.
    _cleans: int | None = field(default=None, init=False)
    _has_directory: bool = field(default=False, init=False)

    # --- writing

    def write_changes(
        self, version: Version, changes: Mapping[str, Mapping[bytes, bytes | None]], progress: bytes
    ) -> int:
        """Write what a wave changed; answers the size."""
        if self.last is not None and self.last > version:
            raise AssertionError(f"{self.directory} is at {self.last}: not restored before {version}")
        # A version that is written again still comes after the one before it.
        predecessor = self._before_last if self.last == version else self.last
        parts = ((store, segments.encode(entries)) for store, entries in changes.items())
        size = self._write(Header(self._task, False, version, predecessor), parts, progress)
        self.last, self._before_last = version, predecessor
        self._changes_bytes += size
        self._files += 1
        return size

    @property
    def needs_base(self) -> bool:
        """Whether the changes have outgrown the base."""
        return self._files >= _MOST_FILES or self._changes_bytes > max(self._base_bytes, _LEAST_CHANGES)

    def write_base(self, stores: Mapping[str, Iterable[tuple[bytes, bytes]]], progress: bytes) -> None:
        """Write everything a task has, which is what it had after its last changes."""
        if self.last is None:
            raise AssertionError(f"{self.directory}: a base is made of changes")
        parts = ((store, chunk) for store, entries in stores.items() for chunk in _chunks(entries))
        self._base_bytes = self._write(Header(self._task, True, self.last, self._before_last), parts, progress)
        self._changes_bytes = 0
        self._files = 0
        if self._cleans is None:
            self._cleans = self.last.batch

    def write_origin(self, stores: Mapping[str, Iterable[tuple[bytes, bytes]]], progress: bytes) -> None:
        """Write everything a task has that was rebuilt from elsewhere: its files begin with it."""
        self._at(_ORIGIN, None, [])
        self.write_base(stores, progress)

    # --- reading

    def restore(
        self,
        before: Version,
        apply: Callable[[str, list[LogEntry]], None],
        at_least: Version | None = None,
    ) -> bytes | None:
        """Read all that a new copy of the task needs to be as it was before a wave.

        Args:
            before: the wave.
            apply: called with entries of a store, in order.
            at_least: a version whose file is known to have been written.

        Returns:
            The progress; None if there is no file yet.

        Raises:
            StateStoreError: a file is missing or damaged. What was applied until then must not be used.
        """
        self._at(None, None, [])
        files = self._list()
        base, since = _latest(files, before)
        at = predecessor = progress = None
        for file in [*base, *since]:
            with self._reader(file) as reader:
                predecessor = reader.header.predecessor
                if not file.is_base and predecessor != at:
                    raise self._gap(file.name, predecessor, at, files)
                for store, data in reader:
                    apply(store, segments.decode(data))
                progress, at = reader.progress, file.version
        self._check_end(at, before, at_least, files)
        self._at(at, predecessor, [*base, *since])
        self._cleans = BEGINNING.batch  # whoever had the task before may have left something
        return progress

    def follow(
        self,
        before: Version,
        apply: Callable[[dict[str, list[LogEntry]], bytes], None],
        at_least: Version | None = None,
    ) -> bool:
        """Read what others changed since this copy's last file and before a wave.

        Args:
            before: the wave.
            apply: called with the entries of all stores and the progress, for each wave that changed something.
            at_least: a version whose file is known to have been written.

        Returns:
            Whether it is there now. If not, nothing was applied: changes alone do not lead there (old ones are
            removed), and it is to be restored.

        Raises:
            StateStoreError: a file is missing or damaged. What was applied until then must not be used.
        """
        files = self._list()
        known = BEGINNING if self.last is None else self.last
        new = [file for file in files if known < file.version < before]
        changes = [file for file in new if not file.is_base]
        at, predecessor = self.last, self._before_last
        for file in changes:
            with self._reader(file) as reader:
                if reader.header.predecessor != at:
                    return False
                at, predecessor = file.version, at
        if new and new[-1].version != at:
            return False
        self._check_end(at, before, at_least, files)
        for file in changes:
            with self._reader(file) as reader:
                stores = {store: segments.decode(data) for store, data in reader}
                apply(stores, reader.progress)
        base, since = _latest(files, before)
        self._at(at, predecessor, [*base, *since])
        return True

    # --- cleaning

    def forget_before(self, batch: int) -> None:
        """Remove what no restart can need: all files before the last base that is older than this batch.

        It looks for them only when there can be some: after a base, and once after it was restored.
        """
        if self._cleans is None or self._cleans >= batch:
            return
        files = self._list()
        bases = [file.version for file in files if file.is_base]
        last = max((version for version in bases if version.batch < batch), default=BEGINNING)
        self._cleans = min((version.batch for version in bases if version.batch >= batch), default=None)
        old = [file.name for file in files if file.version < last]
        for name in [*old, *self._unfinished(batch)]:
            with contextlib.suppress(FileNotFoundError):  # a lane that was given up may do the same
                self.file_system.delete_file(self._path(name))

    # --- inside

    @property
    def _task(self) -> str:
        return posixpath.basename(self.directory)

    def _path(self, name: str) -> str:
        return posixpath.join(self.directory, name)

    def _at(self, last: Version | None, before_last: Version | None, files: Iterable[_File]) -> None:
        """Be as if the copy had written these files, the last base and changes, so that a base comes when it is due."""
        self.last, self._before_last = last, before_last
        self._base_bytes = self._changes_bytes = self._files = 0
        for file in files:
            if file.is_base:
                self._base_bytes = file.size
            else:
                self._changes_bytes += file.size
                self._files += 1

    def _check_end(self, end: Version | None, before: Version, at_least: Version | None, files: list[_File]) -> None:
        """See to it that there is nothing between the end of the chain and a wave."""
        later = next((file for file in files if file.version >= before), None)
        if later is not None:  # an earlier attempt was further
            with self._reader(later) as reader:
                if reader.header.predecessor != end:
                    raise self._gap(later.name, reader.header.predecessor, end, files)
        newest = end if at_least is None or at_least < before or not files else files[-1].version
        if at_least is not None and (newest is None or newest < at_least):
            raise _missing(self._path(_stem(at_least)), "Kafka says that it was written")

    def _gap(self, name: str, wanted: Version | None, found: Version | None, files: list[_File]) -> CheckpointDamaged:
        """The error for a file that does not follow the one before it."""
        path = self._path(name)
        if wanted is not None and wanted not in {file.version for file in files}:
            return _missing(self._path(_stem(wanted)), f"{path} follows it")
        follows, before = ("nothing" if version is None else _stem(version) for version in (wanted, found))
        return CheckpointDamaged(
            "state files do not fit together",
            detail=f"{path} follows {follows}, but the file before it is {before}",
            hint=HINT.replace("restore it", f"restore {self.directory}"),
        )

    @contextlib.contextmanager
    def _reader(self, file: _File) -> Iterator[Reader]:
        path = self._path(file.name)
        try:
            stream = self.file_system.open_input_stream(path)
        except OSError as error:
            raise unreadable(path, error) from error
        with stream:
            # Its size by now: another attempt may have written it again since it was listed.
            reader = Reader(stream, self.file_system.get_file_info(path).size or 0, path)
            task, is_base, version, _ = reader.header
            if (task, is_base, version) != (self._task, file.is_base, file.version):
                raise damaged(path, f"it is another file, {task}/{_name(version, is_base)}")
            yield reader

    def _list(self) -> list[_File]:
        """All files by version, changes before a base."""
        return sorted(
            _File(Version(int(found[1]), int(found[2])), found[3] == "base", info.base_name, info.size or 0)
            for info, found in self._all()
            if found[4] is None
        )

    def _unfinished(self, before: int) -> list[str]:
        """What writers of earlier batches left when they were killed."""
        return [info.base_name for info, found in self._all() if found[4] is not None and int(found[1]) < before]

    def _all(self) -> Iterator[tuple[fs.FileInfo, re.Match[str]]]:
        selector = fs.FileSelector(self.directory, allow_not_found=True)
        for info in self.file_system.get_file_info(selector):
            if found := _NAME.fullmatch(info.base_name):
                yield info, found

    def _write(self, header: Header, parts: Iterable[tuple[str, bytes]], progress: bytes) -> int:
        path = self._path(_name(header.version, header.is_base))
        # A name of its own: a lane that was given up may still be writing the same file.
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        is_local = isinstance(self.file_system, fs.LocalFileSystem)
        try:
            if not self._has_directory:
                self.file_system.create_dir(self.directory, recursive=True)
            with self.file_system.open_output_stream(temporary) as stream:
                size = stateformat.write(stream, header, parts, progress)
            if is_local:
                _sync(temporary)
            self.file_system.move(temporary, path)
            if is_local:
                _sync(self.directory)
                if not self._has_directory:
                    _sync_parents(self.directory)
            self._has_directory = True
        except OSError as error:
            with contextlib.suppress(OSError):
                self.file_system.delete_file(temporary)
            raise StateStoreError(
                "state cannot be written to the checkpoint",
                detail=f"{path}: {error}",
                hint="make room or give access there, then start the application again: it goes on with this batch",
            ) from error
        return size


def _sync(path: str) -> None:
    """Have a file or a directory outlive the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_parents(directory: str) -> None:
    """Have a new directory itself outlive the machine: <checkpoint>/millstream/state/<task>."""
    for _ in range(3):
        directory = posixpath.dirname(directory)
        if directory:
            _sync(directory)


def _chunks(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    iterator = iter(entries)
    while chunk := dict(islice(iterator, _ENTRIES_A_CHUNK)):
        yield segments.encode(chunk)


def _latest(files: list[_File], before: Version) -> tuple[list[_File], list[_File]]:
    """The latest base before a wave, if there is one, and the changes between them."""
    usable = [file for file in files if file.version < before]
    base = [file for file in usable if file.is_base][-1:]
    return base, [file for file in usable if not file.is_base and (not base or file.version > base[0].version)]


def _name(version: Version, is_base: bool) -> str:
    return f"{_stem(version)}.{'base' if is_base else 'changes'}"


def _stem(version: Version) -> str:
    return f"{version.batch:012d}-{version.wave:03d}"


def _missing(path: str, why: str) -> CheckpointDamaged:
    return CheckpointDamaged("a state file is missing", detail=f"{path} is not there: {why}", hint=HINT)
