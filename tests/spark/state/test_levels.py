"""Changes are merged in levels: whoever dies, and whenever, what is read is what was written."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from millstream import StateStoreError
from millstream.spark.state import levels
from millstream.spark.state.filenames import StateFile, name_of, parse
from millstream.spark.state.levels import run_to_merge
from millstream.spark.state.statefiles import StateFiles, Version
from millstream.spark.state.stateformat import BEGINNING, Header, Kind
from millstream.state.store import LogEntry

END = Version(100_000, 0)
Store = dict[bytes, bytes]


class Killed(BaseException):
    """The process ends here."""


class Disk:
    """A file system in memory, of which a process may be killed at any step that changes something.

    A stand-in for `fs.FileSystem`, whose methods are the only ones that state files use.
    """

    def __init__(self, files: fs.FileSystem, steps: int | None = None) -> None:
        self.files = files
        self.steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self.files, name)

    def _step(self) -> None:
        if self.steps is not None:
            self.steps -= 1
            if self.steps < 0:
                raise Killed

    def open_output_stream(self, path: str) -> _Stream:
        self._step()
        return _Stream(self, self.files.open_output_stream(path))

    def move(self, source: str, target: str) -> None:
        self._step()
        self.files.move(source, target)

    def delete_file(self, path: str) -> None:
        self._step()
        self.files.delete_file(path)


class _Stream:
    """A file that is half written if its writer is killed."""

    def __init__(self, disk: Disk, stream: Any) -> None:
        self._disk = disk
        self._stream = stream
        self._is_begun = False

    def write(self, data: bytes) -> None:
        self._stream.write(data)
        if not self._is_begun:
            self._is_begun = True
            self._disk._step()

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class Copy:
    """A copy of a task with two stores."""

    def __init__(self, disk: Disk | fs.FileSystem) -> None:
        self.files = StateFiles(disk, "state/0_0")
        self.stores: dict[str, Store] = {"s": {}, "t": {}}
        self.progress: bytes | None = None

    def write(self, version: Version, changes: dict[str, dict[bytes, bytes | None]]) -> None:
        for store, entries in changes.items():
            self._apply(store, list(entries.items()))
        self.progress = b"%d-%d" % version
        self.files.write_changes(version, changes, self.progress)

    def finish(self, version: Version) -> None:
        """What a lane does when a wave's outputs are out."""
        if self.files.needs_base:
            self.base()
        self.files.merge_before(version.batch - 1)
        self.files.forget_before(version.batch - 1)

    def base(self) -> None:
        self.files.write_base({name: store.items() for name, store in self.stores.items()}, self.progress or b"")

    def restore(self, before: Version = END, at_least: Version | None = None) -> None:
        self.stores = {"s": {}, "t": {}}
        self.progress = self.files.restore(before, self._apply, at_least)

    def follow(self, before: Version = END) -> bool:
        def apply(stores: dict[str, list[LogEntry]], progress: bytes) -> None:
            for store, entries in stores.items():
                self._apply(store, entries)
            self.progress = progress

        return self.files.follow(before, apply)

    def _apply(self, store: str, entries: list[LogEntry]) -> None:
        for key, value in entries:
            if value is None:
                self.stores[store].pop(key, None)
            else:
                self.stores[store][key] = value


def changes_of(version: Version) -> dict[str, dict[bytes, bytes | None]]:
    """Rows that come again soon, late and never, and rows that go; every fifth batch has only progress."""
    number = version.batch
    if number % 5 == 0:
        return {}
    often, rarely, once = (b"%d" % (number % 3), b"r%d" % (number % 11), b"o%d" % number)
    return {
        "s": {often: b"%d-%d" % version, rarely: b"x" * (number % 40)},
        "t": {once: b"", b"o%d" % (number - 4): None},
    }


def memory() -> fs.FileSystem:
    files: fs.FileSystem = fs._MockFileSystem()
    return files


def snapshot(copy: Copy) -> dict[str, Store]:
    return {name: dict(store) for name, store in copy.stores.items()}


def names(files: fs.FileSystem) -> list[str]:
    return sorted(info.base_name for info in files.get_file_info(fs.FileSelector("state/0_0", allow_not_found=True)))


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "RUN", 3)
    monkeypatch.setattr(levels, "_ENTRIES_A_CHUNK", 4)


# --- names


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("since", [None, Version(3, 2)])
def test_a_name_says_what_a_file_is(kind: Kind, since: Version | None) -> None:
    header = Header("0_0", kind, Version(7, 1), since)
    merged = kind is Kind.MERGED
    name = name_of(header, level=2 * merged)
    assert parse(name, 9) == StateFile(
        Version(7, 1), kind, name, 9, (since or BEGINNING) if merged else BEGINNING, 2 * merged
    )
    assert parse(f"{name}.abc.tmp", 9) == (Version(7, 1), f"{name}.abc.tmp")


@pytest.mark.parametrize("name", ["7-1.merged", "7-1.since-3-2.level-1.changes", "7-1.since-3-2.merged", "x", "7.base"])
def test_other_names_are_not_ours(name: str) -> None:
    assert parse(name, 9) is None


# --- what is merged


def file(batch: int, size: int = 1, level: int = 0) -> StateFile:
    return StateFile(Version(batch, 0), Kind.CHANGES, str(batch), size, BEGINNING, level)


def test_a_run_of_one_level_is_merged_when_it_is_long_enough() -> None:
    assert run_to_merge([file(1), file(2)], END.batch) == []
    assert run_to_merge([file(1), file(2), file(3), file(4)], END.batch) == [file(1), file(2), file(3)]
    older = [file(1, level=1), file(2, level=1), file(3, level=1)]
    assert run_to_merge([*older, file(4), file(5)], END.batch) == older


def test_a_batch_that_can_be_run_again_is_left_alone() -> None:
    assert run_to_merge([file(1), file(2), file(3)], 3) == []


def test_what_is_large_is_not_merged_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MOST_BYTES", 10)
    assert run_to_merge([file(1, 6), file(2, 6), file(3, 6), file(4, 6)], END.batch) == []
    assert run_to_merge([file(1, 6), file(2, 5), file(3, 5), file(4, 6)], END.batch) == [file(2, 5), file(3, 5)]


# --- with files


def test_many_batches_leave_few_files_and_write_little() -> None:
    disk = memory()
    copy = Copy(disk)
    for batch in range(1, 501):
        copy.write(Version(batch, 0), {"s": {b"%d" % (batch % 50): b"%d" % batch}})
        copy.finish(Version(batch, 0))
        assert len(names(disk)) <= 3 * 7 + 2
    assert not any(name.endswith(".base") for name in names(disk))  # the changes of 50 rows are nowhere near one

    other = Copy(disk)
    other.restore(at_least=Version(500, 0))
    assert other.stores == copy.stores
    assert other.progress == b"500-0"


def test_what_is_merged_is_gone_and_what_it_became_is_named_after_it() -> None:
    disk = memory()
    copy = Copy(disk)
    for batch in range(1, 6):
        copy.write(Version(batch, 0), {"s": {b"k": b"%d" % batch}})
        copy.finish(Version(batch, 0))
    assert names(disk) == [
        "000000000003-000.since-start.level-1.merged",
        "000000000004-000.changes",
        "000000000005-000.changes",
    ]


def test_a_merged_file_leads_on_whoever_is_in_the_middle_of_it() -> None:
    disk = memory()
    copy, behind = Copy(disk), Copy(disk)
    for batch in range(1, 12):
        copy.write(Version(batch, 0), changes_of(Version(batch, 0)))
        copy.finish(Version(batch, 0))
        if batch == 2:
            behind.restore()
    assert behind.follow()
    assert (behind.stores, behind.progress, behind.files.last) == (copy.stores, copy.progress, Version(11, 0))


def test_a_damaged_file_is_replaced_by_a_base_while_its_task_lives(caplog: pytest.LogCaptureFixture) -> None:
    disk = memory()
    copy = Copy(disk)
    for batch in range(1, 30):
        version = Version(batch, 0)
        copy.write(version, changes_of(version))
        if batch == 7:
            with disk.open_output_stream(f"state/0_0/{names(disk)[-1]}") as stream:
                stream.write(b"something else")
        with caplog.at_level(logging.WARNING):
            copy.finish(version)
    assert "written anew, because a state file is damaged" in caplog.text
    other = Copy(disk)
    other.restore(at_least=Version(29, 0))
    assert other.stores == copy.stores


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_gap_is_not_merged_away(lost: int) -> None:
    """Whoever follows has seen the files since its own last one, and lists those before it."""
    disk = memory()
    copy, follower = Copy(disk), Copy(disk)
    for batch in range(1, 6):
        copy.write(Version(batch, 0), changes_of(Version(batch, 0)))
        if batch == 4:
            follower.restore()
    disk.delete_file(f"state/0_0/{names(disk)[lost - 1]}")
    assert follower.follow()
    for batch in range(6, 9):
        follower.write(Version(batch, 0), changes_of(Version(batch, 0)))
        follower.files.merge_before(batch - 1)
    with pytest.raises(StateStoreError, match=r"missing|do not fit together"):
        Copy(disk).restore()
    assert follower.files.needs_base or lost == 1  # that one is missing before all that is merged

    follower.base()
    healed = Copy(disk)
    healed.restore(at_least=Version(8, 0))
    assert healed.stores == follower.stores


# --- whoever dies, and whenever


def work(disk: Disk, states: dict[Version, dict[str, Store]], first: int) -> None:
    """A lane, from a batch on; it notes what is there after each wave before anybody can know of it."""
    copy = Copy(disk)
    copy.restore(Version(first, 0), max((at for at in states if at < Version(first, 0)), default=None))
    for batch in range(first, 19):
        for wave in (0, 2) if batch % 4 == 0 else (0,):
            version = Version(batch, wave)
            changes = changes_of(version)
            for store, entries in changes.items():
                copy._apply(store, list(entries.items()))
            noted = snapshot(copy)
            copy.write(version, changes)
            states[version] = noted
            if batch == 9:
                copy.base()
            copy.finish(version)


def test_a_lane_that_is_killed_at_any_step_leaves_what_the_next_one_needs() -> None:
    whole_life = Disk(memory(), 10_000)
    work(whole_life, {}, 1)
    steps = 10_000 - (whole_life.steps or 0)
    assert steps > 90
    for lived in range(steps):
        files, states = memory(), dict[Version, dict[str, Store]]()
        with pytest.raises(Killed):
            work(Disk(files, lived), states, 1)
        last = max(states, default=BEGINNING)
        # The batch that was under way is run again, or the one before it, of which nobody noted that it was done.
        for batch in {max(1, last.batch - 1), max(1, last.batch), last.batch + 1}:
            next_one, before = Copy(files), Version(batch, 0)
            wanted = max((at for at in states if at < before), default=None)
            next_one.restore(before, wanted)
            assert next_one.stores == (states[wanted] if wanted else {"s": {}, "t": {}}), (lived, before)
        work(Disk(files), states, max(1, last.batch))
        left = Copy(files)
        left.restore(at_least=Version(18, 0))
        assert left.stores == states[Version(18, 0)]
        assert len(names(files)) <= 12, names(files)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_history_can_be_read(data: st.DataObject) -> None:
    """Lanes that come and go, batches that are run again, copies that follow, files that are lost."""
    files = memory()
    states: dict[Version, dict[str, Store]] = {}
    copy, follower = Copy(files), Copy(files)
    batch = final = 0
    for _ in range(data.draw(st.integers(5, 30))):
        what = data.draw(st.sampled_from(["next", "next", "next", "next", "next", "again", "base", "follow"]))
        if what == "next":
            batch += data.draw(st.integers(1, 2))
            version = Version(batch, data.draw(st.integers(0, 1)))
            copy.write(version, changes_of(version))
            states[version] = snapshot(copy)
            if data.draw(st.booleans()):
                copy.finish(version)
                final = batch - 1  # no earlier one is run again
        elif what == "again" and states:
            batch = max(max(states).batch, final) - 1  # that it is done was not noted
            copy = Copy(files)
            copy.restore(Version(batch + 1, 0))
            states = {version: state for version, state in states.items() if version.batch <= batch}
            for name in names(files):  # other waves may change something now: here, what is done again is all there is
                found = parse(name, 0)
                if found is not None and found.version.batch > batch:
                    files.delete_file(f"state/0_0/{name}")
            if states:
                assert copy.stores == states[max(states)]
            if follower.files.last is not None and follower.files.last > max(states, default=BEGINNING):
                follower = Copy(files)
        elif what == "base" and states:
            copy.base()
        elif what == "follow":
            if not follower.follow():
                follower = Copy(files)
                follower.restore()
            assert follower.stores == (states[max(states)] if states else {"s": {}, "t": {}})
    if not states:
        return
    last = max(states)
    for before in {Version(final, 0), Version(max(final, last.batch), 0), END}:
        reader = Copy(files)
        reader.restore(before, last)
        wanted = max((version for version in states if version < before), default=None)
        assert reader.stores == (states[wanted] if wanted else {"s": {}, "t": {}})
    files.delete_file(f"state/0_0/{data.draw(st.sampled_from(names(files)))}")
    reader, told = Copy(files), None
    try:
        reader.restore(at_least=last)
    except StateStoreError as error:
        told = str(error)
    assert reader.stores == states[last] if told is None else "state/0_0/" in told
