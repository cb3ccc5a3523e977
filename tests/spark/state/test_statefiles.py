"""State between batches: files that are whole or not there, and a chain without gaps."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from millstream import StateStoreError
from millstream.spark.state.statefiles import StateFiles, Version
from millstream.state.store import LogEntry

END = Version(1_000, 0)
RARELY = st.sampled_from([False, False, False, True])


class Copy:
    """A copy of a task with one store, which is its batches' last writes."""

    def __init__(self, directory: Path, task: str = "0_0") -> None:
        self.files = StateFiles(fs.LocalFileSystem(), str(directory / task))
        self.store: dict[bytes, bytes] = {}
        self.progress: bytes | None = None

    def write(self, *versions: Version, base: bool = False) -> None:
        for version in versions:
            # A key that is soon written again, and one that only this version writes.
            changes = {b"k%d" % (version.batch % 3): b"%d-%d" % version, b"%d-%d" % version: b""}
            self.store |= changes
            self.progress = b"%d" % version.batch
            self.files.write_changes(version, {"s": changes}, self.progress)
        if base:
            self.files.write_base({"s": self.store.items()}, self.progress or b"")

    def restore(self, before: Version = END, at_least: Version | None = None) -> None:
        self.store = {}
        self.progress = self.files.restore(before, self._apply, at_least)

    def follow(self, before: Version = END, at_least: Version | None = None) -> bool:
        def apply(stores: dict[str, list[LogEntry]], progress: bytes) -> None:
            for store, entries in stores.items():
                self._apply(store, entries)
            self.progress = progress

        return self.files.follow(before, apply, at_least)

    def _apply(self, store: str, entries: list[LogEntry]) -> None:
        assert store == "s"
        for key, value in entries:
            if value is None:
                self.store.pop(key, None)
            else:
                self.store[key] = value


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Nothing here has to outlive the machine, and a busy disk takes its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


@pytest.fixture
def other(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def batches(*numbers: int) -> list[Version]:
    return [Version(number, 0) for number in numbers]


def paths(copy: Copy, pattern: str = "*") -> list[Path]:
    return sorted(Path(copy.files.directory).glob(pattern))


def expected(*numbers: int) -> dict[bytes, bytes]:
    store: dict[bytes, bytes] = {}
    for number in numbers:
        store |= {b"k%d" % (number % 3): b"%d-0" % number, b"%d-0" % number: b""}
    return store


# --- what is written and read


def test_what_was_written_can_be_read(copy: Copy) -> None:
    copy.files.write_changes(Version(1, 0), {"s": {b"k": b"v", b"gone": None}, "t": {}}, b"progress")

    found: list[tuple[str, list[LogEntry]]] = []
    progress = copy.files.restore(END, lambda store, entries: found.append((store, entries)))

    assert found == [("s", [(b"k", b"v"), (b"gone", None)]), ("t", [])]
    assert progress == b"progress"


def test_a_task_without_files_begins_with_nothing(copy: Copy) -> None:
    copy.restore()
    assert (copy.store, copy.progress, copy.files.last) == ({}, None, None)
    assert copy.follow()


def test_a_batch_that_is_run_again_does_not_see_its_own_changes(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2, 3))

    other.restore(Version(3, 0))
    assert other.store == expected(1, 2)
    assert other.files.last == Version(2, 0)


def test_a_base_replaces_what_is_before_it(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2), base=True)
    copy.write(*batches(3))
    copy.files.forget_before(10)

    assert [path.name for path in paths(copy)] == [
        "000000000002-000.base",
        "000000000002-000.changes",
        "000000000003-000.changes",
    ]
    other.restore()
    assert other.store == expected(1, 2, 3)


def test_a_base_of_many_chunks_is_read_as_a_whole(copy: Copy, other: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream.spark.state.levels._ENTRIES_A_CHUNK", 2)
    copy.store = {b"%d" % number: b"v" for number in range(7)}
    copy.write(Version(1, 0), base=True)

    other.restore()
    assert other.store == copy.store


# --- the chain


def test_a_version_that_is_written_again_keeps_its_predecessor(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2))
    copy.write(*batches(2), base=True)
    copy.write(*batches(3))
    other.restore()
    assert other.store == expected(1, 2, 3)

    other.restore(Version(2, 0))
    other.write(*batches(2, 3))
    for base in paths(copy, "*.base"):
        base.unlink()
    copy.restore()
    assert copy.store == expected(1, 2, 3)


def test_a_copy_that_was_not_restored_does_not_write_an_earlier_version(copy: Copy) -> None:
    copy.write(*batches(1, 2))
    with pytest.raises(AssertionError):
        copy.write(*batches(1))


def test_waves_and_quiet_batches_are_in_the_chain(copy: Copy, other: Copy) -> None:
    copy.write(Version(1, 0), Version(1, 2), Version(7, 2), Version(9, 0))
    other.restore(Version(7, 2))
    assert other.files.last == Version(1, 2)
    assert other.follow(Version(9, 0))
    assert other.files.last == Version(7, 2)
    assert other.follow()
    assert other.store == copy.store


def test_the_work_goes_to_and_fro_between_copies(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2))
    other.restore(Version(3, 0))
    other.write(*batches(3), base=True)
    assert copy.follow(Version(4, 0))
    copy.write(*batches(4))
    assert other.follow(Version(5, 0))
    other.write(*batches(5))

    third = Copy(Path(copy.files.directory).parent)
    third.restore()
    assert third.store == other.store == expected(1, 2, 3, 4, 5)


def test_who_is_too_far_behind_for_changes_is_restored(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1))
    other.restore()
    copy.write(*batches(2, 3, 4), base=True)
    copy.write(*batches(5))
    copy.files.forget_before(10)

    assert not other.follow()
    assert other.store == expected(1), "nothing is applied"
    other.restore()
    assert other.store == copy.store


def test_who_is_behind_a_lone_base_is_restored(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1))
    other.restore()
    copy.write(*batches(2, 3), base=True)
    copy.files.forget_before(10)
    for changes in paths(copy, "*.changes"):
        changes.unlink()

    assert not other.follow()
    other.restore()
    assert other.store == copy.store


def test_changes_lead_on_although_older_files_are_gone(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2, 3))
    other.restore()
    copy.write(*batches(4), base=True)
    copy.files.forget_before(10)
    copy.write(*batches(5))

    assert other.follow()
    assert other.store == copy.store


def test_a_missing_file_in_the_middle_is_named(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2, 3))
    paths(copy)[1].unlink()

    with pytest.raises(StateStoreError, match="missing") as caught:
        other.restore()
    assert f"{copy.files.directory}/000000000002-000 is not there" in str(caught.value)
    assert "000000000003-000.changes follows it" in str(caught.value)
    assert "backup" in str(caught.value)
    assert "millstream reset" in str(caught.value)


def test_a_file_of_another_chain_does_not_fit(copy: Copy, other: Copy, tmp_path: Path) -> None:
    copy.write(*batches(1, 2, 3))
    stranger = Copy(tmp_path / "elsewhere")
    stranger.write(*batches(1, 3))
    paths(copy)[2].write_bytes(paths(stranger)[1].read_bytes())

    with pytest.raises(StateStoreError, match="do not fit together") as caught:
        other.restore()
    assert "follows 000000000001-000, but the file before it is 000000000002-000" in str(caught.value)


@pytest.mark.parametrize("task", ["0_0", "0_1"])
def test_a_file_under_another_name_is_told(copy: Copy, other: Copy, tmp_path: Path, task: str) -> None:
    copy.write(*batches(1, 2))
    stranger = Copy(tmp_path, task)
    if task != "0_0":
        stranger.write(*batches(1, 2))
    target, source = paths(copy)[1], paths(stranger)[0 if task == "0_0" else 1]
    target.write_bytes(source.read_bytes())

    with pytest.raises(StateStoreError, match="it is another file") as caught:
        other.restore()
    assert str(target) in str(caught.value)


def test_a_missing_end_is_seen_by_who_knows_of_it(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2, 3))
    other.restore(Version(3, 0), at_least=Version(2, 0))
    paths(copy)[2].unlink()

    for read in (copy.restore, other.restore, other.follow):
        with pytest.raises(StateStoreError, match="missing") as caught:
            read(END, at_least=Version(3, 0))
        assert "000000000003-000 is not there" in str(caught.value)
    other.restore(END, at_least=Version(2, 0))


def test_all_files_missing_are_seen_by_who_knows_of_them(copy: Copy) -> None:
    with pytest.raises(StateStoreError, match="missing"):
        copy.restore(END, at_least=Version(3, 0))


def test_what_an_earlier_attempt_left_tells_where_the_chain_ends(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2, 3))
    other.restore(Version(3, 0), at_least=Version(3, 0))
    paths(copy)[1].unlink()

    with pytest.raises(StateStoreError, match="000000000002-000 is not there"):
        other.restore(Version(3, 0))


def test_a_known_file_of_this_wave_must_be_there_too(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2, 3))
    paths(copy)[2].unlink()
    with pytest.raises(StateStoreError, match="000000000003-000 is not there"):
        other.restore(Version(3, 0), at_least=Version(3, 0))


@settings(deadline=None)
@given(st.data())
def test_any_file_may_be_lost(data: st.DataObject) -> None:
    """Without it there is an error, or, if it is not needed, the right result."""
    with tempfile.TemporaryDirectory() as directory:
        writer = Copy(Path(directory))
        states: dict[Version, dict[bytes, bytes]] = {}
        number = 0
        for _ in range(data.draw(st.integers(1, 8))):
            number += data.draw(st.integers(1, 3))
            writer.write(Version(number, 0), base=data.draw(RARELY))
            states[Version(number, 0)] = dict(writer.store)
            if data.draw(RARELY):
                writer.files.forget_before(data.draw(st.integers(0, number)))
        before = data.draw(st.sampled_from([*states, END]))
        at_least = max(states)
        wanted = max((version for version in states if version < before), default=None)
        lost = data.draw(st.sampled_from(paths(writer)))
        lost.unlink()

        reader = Copy(Path(directory))
        if _told(directory, lambda: reader.restore(before, at_least)):
            return
        assert reader.store == (states[wanted] if wanted else {})
        assert reader.files.last == wanted


@settings(deadline=None)
@given(st.data())
def test_who_follows_may_lose_any_file(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        writer, follower = Copy(Path(directory)), Copy(Path(directory))
        begins, ends = data.draw(st.integers(1, 4)), data.draw(st.integers(5, 9))
        for batch in range(1, ends):
            writer.write(Version(batch, 0), base=data.draw(RARELY))
            if batch == begins:
                follower.restore()
            if data.draw(RARELY):
                writer.files.forget_before(data.draw(st.integers(0, batch)))
        data.draw(st.sampled_from(paths(writer))).unlink()

        followed: list[bool] = []
        if not _told(directory, lambda: followed.append(follower.follow(END, at_least=Version(ends - 1, 0)))):
            assert follower.store == (writer.store if followed == [True] else expected(*range(1, begins + 1)))


def _told(directory: str, read: Callable[[], None]) -> bool:
    """Whether there was an error; it has a path."""
    told = None
    try:
        read()
    except StateStoreError as error:
        told = str(error)
    assert told is None or directory in told
    return told is not None


# --- damage


@pytest.mark.parametrize("base", [False, True])
def test_every_wrong_byte_is_told(copy: Copy, other: Copy, base: bool) -> None:
    copy.write(*batches(1, 2), base=base)
    path = paths(copy, "*.base" if base else "*.changes")[-1]
    good = path.read_bytes()
    for place in range(len(good)):
        for flip in (1, 0x80, 0xFF):
            bad = bytearray(good)
            bad[place] ^= flip
            path.write_bytes(bad)
            with pytest.raises(StateStoreError) as caught:
                other.restore()
            assert str(path) in str(caught.value)
            assert other.files.last is None


@pytest.mark.parametrize("base", [False, True])
def test_every_wrong_length_is_told(copy: Copy, other: Copy, base: bool) -> None:
    copy.write(*batches(1, 2), base=base)
    path = paths(copy, "*.base" if base else "*.changes")[-1]
    good = path.read_bytes()
    for bad in [*(good[:length] for length in range(len(good))), good + b"\0", good + good]:
        path.write_bytes(bad)
        with pytest.raises(StateStoreError, match="damaged") as caught:
            other.restore()
        assert str(path) in str(caught.value)


def test_who_follows_is_told_of_damage_before_it_takes_any_of_it(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1))
    other.restore()
    copy.files.write_changes(Version(2, 0), {"s": {b"a": b"1"}, "t": {b"b": b"2"}}, b"")
    path = paths(copy)[1]
    bad = bytearray(path.read_bytes())
    bad[-1] ^= 1
    path.write_bytes(bad)

    with pytest.raises(StateStoreError, match="damaged"):
        other.follow()
    assert other.store == expected(1)


def test_files_of_the_older_format_are_named_as_such(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1))
    (path,) = paths(copy)
    path.write_bytes(b"MSF1" + b"\0" * 40)

    with pytest.raises(StateStoreError, match="older format") as caught:
        other.restore()
    assert str(path) in str(caught.value)


def test_a_file_that_cannot_be_opened_is_named(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1))
    (path,) = paths(copy)
    path.unlink()
    path.mkdir()

    with pytest.raises(StateStoreError, match="cannot be read") as caught:
        other.restore()
    assert str(path) in str(caught.value)


def test_the_format_stays(copy: Copy) -> None:
    """What is on disk must be read by later releases."""
    copy.write(*batches(1))
    copy.files.write_changes(Version(2, 0), {"s": {b"k2": b"2-0"}}, b"2")
    stored = bytes.fromhex(
        "4d534632010000000000000002000000000000000000000001000000000003305f30d592b6e301000100000000000000"
        "2561d78230734d535347020000000100000002000000030000000000000002000000030000006b32322d30f9419a9502"
        "0000000000000000000113e865a832c2cb7db20300000000000000000010e993d33c0000000000000002000000000000"
        "0096ecd4be8d"
    )
    assert paths(copy)[1].read_bytes() == stored


# --- on the disk


def test_data_and_directory_are_synced(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    copy.write(*batches(1))
    directory = copy.files.directory
    assert synced[0].startswith(f"{directory}/000000000001-000.changes.")
    assert synced[0].endswith(".tmp")
    assert synced[1:] == [directory, *map(str, list(Path(directory).parents)[:3])]

    synced.clear()
    copy.write(*batches(2))
    assert len(synced) == 2


def test_nothing_is_synced_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    copy = Copy(tmp_path)
    copy.files = StateFiles(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "0_0")
    copy.write(*batches(1))
    copy.restore()
    assert copy.store == expected(1)
    assert not synced


def test_a_full_disk_is_told_and_leaves_nothing(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    copy.write(*batches(1))
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(StateStoreError, match="No space left"):
            copy.write(*batches(2))
    assert len(paths(copy)) == 1
    assert copy.files.last == Version(1, 0)
    copy.write(*batches(2))


# --- cleaning


@pytest.mark.parametrize("each", [1, 7])
def test_old_files_go_whatever_the_number_of_bases(copy: Copy, other: Copy, each: int) -> None:
    for batch in range(100):
        copy.write(Version(batch, 1), base=batch % each == 0)
        copy.files.forget_before(batch - 1)
        assert len(paths(copy)) <= 2 * each + 6
    other.restore()
    assert other.store == copy.store


def test_what_killed_writers_left_goes(copy: Copy, other: Copy) -> None:
    copy.write(*batches(1, 2))
    for batch in (1, 2, 3):
        Path(copy.files.directory, f"{batch:012d}-000.changes.abc.tmp").touch()
    other.restore(Version(3, 0))
    other.files.forget_before(3)
    assert [path.name for path in paths(copy, "*.tmp")] == ["000000000003-000.changes.abc.tmp"]


def test_nothing_is_looked_for_when_nothing_can_be_old(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    copy.write(*batches(1, 2))
    monkeypatch.setattr(StateFiles, "_list", lambda _: pytest.fail("there is nothing to look for"))
    copy.files.forget_before(2)


def test_files_of_others_are_left_alone(copy: Copy) -> None:
    copy.write(*batches(1))
    Path(copy.files.directory, "notes.changes").touch()
    Path(copy.files.directory, "x-y.changes.tmp").touch()
    copy.restore()
    copy.files.forget_before(10)
    assert len(paths(copy)) == 3
