"""Where tasks keep their state between batches: files of changes beside Spark's checkpoint.

    <checkpoint>/millstream/state/<task>/<batch>-<wave>.changes     what one wave of one batch changed
    <checkpoint>/millstream/state/<task>/<batch>-<wave>.base        everything there was after it
    <checkpoint>/millstream/state/<task>/<batch>-<wave> ... .merged what several waves changed

A task as it was before (batch, wave) is the latest base before it and all changes after that base. A wave that changed
nothing leaves no file. A base has the version of the last changes in it, and is written when the changes since the last
one outgrow it; until then changes are merged (`millstream.spark.state.levels`), so that few files have them. So what a
batch costs depends on what it changes, and not on what there is.

The files of a task are a chain: each names the version of the one before it, so that a gap is seen. What is missing at
the end of the chain is seen from outside only: whoever reads may say how far it must go (`at_least`). A batch that is
run again writes the same files again, with the same predecessors; those that an earlier attempt left also tell where
the chain before them ends. Only files of batches that cannot be run again are merged. They are removed after what they
became is there: who dies in between leaves some that are not looked at, and removed later.

A file is there as a whole or not at all (`millstream.spark.state.storage`); `millstream.spark.state.stateformat` says
what is in it.
"""

from __future__ import annotations

import contextlib
import logging
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyarrow import fs

from millstream.errors import CheckpointDamaged, StateStoreError
from millstream.spark.state import stateformat, storage
from millstream.spark.state.chain import latest_base, useless, way
from millstream.spark.state.filenames import StateFile, Unfinished, name_of, parse, stem
from millstream.spark.state.levels import Merged, in_segments, run_to_merge
from millstream.spark.state.stateformat import BEGINNING as BEGINNING
from millstream.spark.state.stateformat import HINT, FileGone, Header, Kind, Reader, damaged, unreadable
from millstream.spark.state.stateformat import Version as Version
from millstream.state import segments
from millstream.state.store import LogEntry

log = logging.getLogger("millstream.spark")

#: Before the first batch, which is 1: the version of what was rebuilt from Kafka.
_ORIGIN = Version(0, 0)
#: Changes smaller than this are never worth a base.
_LEAST_CHANGES = 4 * 1024 * 1024


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
    #: The files of changes since the last base.
    _parts: list[StateFile] = field(default_factory=list, init=False)
    #: Whether a file since the last base cannot be read any more.
    _is_damaged: bool = field(default=False, init=False)
    #: The batch of a base that makes older files useless; they are there until nothing can go back behind it.
    _cleans: int | None = field(default=None, init=False)
    _has_directory: bool = field(default=False, init=False)
    #: How many bytes were written.
    written: int = field(default=0, init=False)

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
        file = self._write(Header(self._task, Kind.CHANGES, version, predecessor), parts, progress)
        if self._parts and self._parts[-1].version == version:
            self._parts.pop()
        self._parts.append(file)
        self.last, self._before_last = version, predecessor
        return file.size

    @property
    def needs_base(self) -> bool:
        """Whether the changes have outgrown the base, or one of them is lost to all but this copy."""
        return self._is_damaged or sum(part.size for part in self._parts) > max(self._base_bytes, _LEAST_CHANGES)

    def write_base(self, stores: Mapping[str, Iterable[tuple[bytes, bytes]]], progress: bytes) -> None:
        """Write everything a task has, which is what it had after its last changes."""
        if self.last is None:
            raise AssertionError(f"{self.directory}: a base is made of changes")
        parts = ((store, segment) for store, entries in stores.items() for segment in in_segments(entries))
        header = Header(self._task, Kind.BASE, self.last, self._before_last)
        self._base_bytes = self._write(header, parts, progress).size
        self._parts, self._is_damaged = [], False
        if self._cleans is None:
            self._cleans = self.last.batch

    def write_origin(self, stores: Mapping[str, Iterable[tuple[bytes, bytes]]], progress: bytes) -> None:
        """Write everything a task has that was rebuilt from elsewhere: its files begin with it."""
        self._at(_ORIGIN, None, None, [])
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
        self._at(None, None, None, [])
        files = self._list()
        base = latest_base(files, before)
        parts = list(way(files, None if base is None else base.version, before))
        at = predecessor = progress = None
        for file in parts if base is None else [base, *parts]:
            with self._reader(file) as reader:
                predecessor = reader.header.predecessor
                if file.kind is not Kind.BASE and not _continues(reader.header, at):
                    raise self._gap(file.name, predecessor, at, files)
                for store, data in reader:
                    apply(store, segments.decode(data))
                progress, at = reader.progress, file.version
        self._check_end(at, before, at_least, files)
        self._at(at, predecessor, base, parts)
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
            Whether it is there now. If not, it is to be restored: changes alone do not lead there (old ones are
            removed), or somebody removed them meanwhile.

        Raises:
            StateStoreError: a file is missing or damaged. What was applied until then must not be used.
        """
        files = self._list()
        steps = list(way(files, self.last, before))
        at, predecessor = self.last, self._before_last
        try:
            for file in steps:
                with self._reader(file) as reader:
                    if not _continues(reader.header, at):
                        return False
                    at, predecessor = file.version, reader.header.predecessor
            base = latest_base(files, before)
            if base is not None and (at is None or at < base.version):
                return False
            self._check_end(at, before, at_least, files)
            for file in steps:
                with self._reader(file) as reader:
                    stores: dict[str, list[LogEntry]] = {}
                    for store, data in reader:
                        stores.setdefault(store, []).extend(segments.decode(data))
                    apply(stores, reader.progress)
        except FileGone:
            return False  # whoever works with the task has merged it meanwhile
        parts = list(way(files, None if base is None else base.version, before))
        self._at(at, predecessor, base, parts)
        return True

    # --- merging

    def merge_before(self, batch: int) -> None:
        """Merge changes of batches that cannot be run again, those before this one, where there are enough of them."""
        while run := run_to_merge(self._parts, batch):
            try:
                merged = self._merged(run)
            except (CheckpointDamaged, FileGone) as error:
                log.warning("state files are written anew, because %s (%s)", error.primary, error.detail)
                self._is_damaged = True  # what was in it is in the stores of this copy
                return
            first = self._parts.index(run[0])
            self._parts[first : first + len(run)] = [merged]
            self._remove(file.name for file in run)

    def _merged(self, run: Sequence[StateFile]) -> StateFile:
        """Write what some files have together; a gap between them must not be lost from sight."""
        content, progress, since, at = Merged(), b"", None, None
        for file in run:
            with self._reader(file) as reader:
                if file is run[0]:
                    since = reader.header.predecessor
                elif not _continues(reader.header, at):
                    raise self._gap(file.name, reader.header.predecessor, at, self._list())
                for store, data in reader:
                    content.add(store, data)
                progress, at = reader.progress, file.version
        header = Header(self._task, Kind.MERGED, run[-1].version, since)
        return self._write(header, content.parts(), progress, run[0].level + 1)

    # --- cleaning

    def forget_before(self, batch: int) -> None:
        """Remove what no restart can need: all files before the last base that is older than this batch.

        It looks for them only when there can be some: after a base, and once after it was restored.
        """
        if self._cleans is None or self._cleans >= batch:
            return
        files = self._list()
        bases = [file.version.batch for file in files if file.kind is Kind.BASE]
        self._cleans = min((at for at in bases if at >= batch), default=None)
        self._remove([*(file.name for file in useless(files, batch)), *self._unfinished(batch)])

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # a lane that was given up may do the same
                self.file_system.delete_file(self._path(name))

    # --- inside

    @property
    def _task(self) -> str:
        return posixpath.basename(self.directory)

    def _path(self, name: str) -> str:
        return posixpath.join(self.directory, name)

    def _at(
        self, last: Version | None, before_last: Version | None, base: StateFile | None, parts: list[StateFile]
    ) -> None:
        """Be as if the copy had written these files, so that they are merged, and a base comes, when it is due."""
        self.last, self._before_last = last, before_last
        self._base_bytes = 0 if base is None else base.size
        self._parts, self._is_damaged = parts, False

    def _check_end(
        self, end: Version | None, before: Version, at_least: Version | None, files: list[StateFile]
    ) -> None:
        """See to it that there is nothing between the end of the chain and a wave."""
        later = next((file for file in files if file.version >= before and file.kind is not Kind.MERGED), None)
        if later is not None:  # an earlier attempt was further
            with self._reader(later) as reader:
                if reader.header.predecessor != end:
                    raise self._gap(later.name, reader.header.predecessor, end, files)
        newest = end if at_least is None or at_least < before or not files else files[-1].version
        if at_least is not None and (newest is None or newest < at_least):
            raise _missing(self._path(stem(at_least)), "Kafka says that it was written")

    def _gap(
        self, name: str, wanted: Version | None, found: Version | None, files: list[StateFile]
    ) -> CheckpointDamaged:
        """The error for a file that does not follow the one before it."""
        path = self._path(name)
        if wanted is not None and wanted not in {file.version for file in files}:
            return _missing(self._path(stem(wanted)), f"{path} follows it")
        follows, before = ("nothing" if version is None else stem(version) for version in (wanted, found))
        return CheckpointDamaged(
            "state files do not fit together",
            detail=f"{path} follows {follows}, but the file before it is {before}",
            hint=HINT.replace("restore it", f"restore {self.directory}"),
        )

    @contextlib.contextmanager
    def _reader(self, file: StateFile) -> Iterator[Reader]:
        path = self._path(file.name)
        try:
            stream = self.file_system.open_input_stream(path)
        except OSError as error:
            raise unreadable(path, error) from error
        with stream:
            # Its size by now: another attempt may have written it again since it was listed.
            reader = Reader(stream, self.file_system.get_file_info(path).size or 0, path)
            if reader.header.task != self._task or name_of(reader.header, file.level) != file.name:
                raise damaged(path, f"it is another file, {reader.header.task}/{name_of(reader.header)}")
            yield reader

    def _list(self) -> list[StateFile]:
        """All files by version, changes before a base."""
        return sorted(file for file in self._all() if isinstance(file, StateFile))

    def _unfinished(self, before: int) -> list[str]:
        """What writers of earlier batches left when they were killed."""
        return [file.name for file in self._all() if isinstance(file, Unfinished) and file.version.batch < before]

    def _all(self) -> Iterator[StateFile | Unfinished]:
        selector = fs.FileSelector(self.directory, allow_not_found=True)
        for info in self.file_system.get_file_info(selector):
            if (file := parse(info.base_name, info.size or 0)) is not None:
                yield file

    def _write(self, header: Header, parts: Iterable[tuple[str, bytes]], progress: bytes, level: int = 0) -> StateFile:
        name = name_of(header, level)
        path = self._path(name)
        try:
            if not self._has_directory:
                storage.make_directory(self.file_system, self.directory)
            size = storage.write_whole(
                self.file_system, path, lambda stream: stateformat.write(stream, header, parts, progress)
            )
            if not self._has_directory:
                storage.sync_above(self.file_system, self.directory, 3)  # <checkpoint>/millstream/state/<task>
            self._has_directory = True
        except OSError as error:
            raise StateStoreError(
                "state cannot be written to the checkpoint",
                detail=f"{path}: {error}",
                hint="make room or give access there, then start the application again: it goes on with this batch",
            ) from error
        self.written += size
        since = (header.predecessor or BEGINNING) if header.kind is Kind.MERGED else BEGINNING
        return StateFile(header.version, header.kind, name, size, since, level)


def _continues(header: Header, at: Version | None) -> bool:
    """Whether a file leads on from a version: where it begins is where that is, or before it if it is merged."""
    if header.kind is Kind.MERGED:
        return (header.predecessor or BEGINNING) <= (at or BEGINNING)
    return header.predecessor == at


def _missing(path: str, why: str) -> CheckpointDamaged:
    return CheckpointDamaged("a state file is missing", detail=f"{path} is not there: {why}", hint=HINT)
