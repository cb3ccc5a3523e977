"""State between batches: files that are whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs

from millstream import StateStoreError
from millstream.spark.statefiles import BEGINNING, StateFiles, Version
from millstream.state import segments


@pytest.fixture
def files(tmp_path: Path) -> StateFiles:
    return StateFiles(fs.LocalFileSystem(), str(tmp_path / "0_0"))


def names(files: StateFiles, known: Version, before: Version) -> list[tuple[Version, bool]]:
    return [(version, is_base) for version, is_base, _ in files.since(known, before)]


def test_what_was_written_can_be_read(files: StateFiles) -> None:
    files.write_changes(Version(1, 0), {"s": {b"k": b"v", b"gone": None}}, b"progress")

    (_, _, name), *_ = files.since(BEGINNING, Version(2, 0))
    ((store, data),), progress = files.read(name)

    assert (store, progress) == ("s", b"progress")
    assert segments.decode(data) == [(b"k", b"v"), (b"gone", None)]


def test_a_batch_that_is_run_again_does_not_see_its_own_changes(files: StateFiles) -> None:
    for batch in (1, 2, 3):
        files.write_changes(Version(batch, 0), {"s": {b"k": b"%d" % batch}}, b"")

    assert names(files, BEGINNING, Version(3, 0)) == [(Version(1, 0), False), (Version(2, 0), False)]
    assert names(files, Version(1, 0), Version(3, 0)) == [(Version(2, 0), False)]
    assert names(files, Version(2, 0), Version(3, 0)) == []


def test_a_base_replaces_what_is_before_it(files: StateFiles) -> None:
    for batch in (1, 2):
        files.write_changes(Version(batch, 0), {"s": {b"k": b"%d" % batch}}, b"")
    files.write_base(Version(2, 0), {"s": iter([(b"k", b"2")])}, b"")
    files.write_changes(Version(3, 0), {"s": {b"k": b"3"}}, b"")

    assert names(files, BEGINNING, Version(4, 0)) == [(Version(2, 0), True), (Version(3, 0), False)]
    files.forget_before(10)
    assert names(files, BEGINNING, Version(4, 0)) == [(Version(2, 0), True), (Version(3, 0), False)]
    assert not list(Path(files.directory).glob("*001-*"))


def test_a_damaged_file_is_noticed(files: StateFiles) -> None:
    files.write_changes(Version(1, 0), {"s": {b"k": b"v"}}, b"progress")
    (path,) = Path(files.directory).glob("*.changes")
    path.write_bytes(path.read_bytes()[:-3])

    with pytest.raises(StateStoreError, match="damaged"):
        files.read(path.name)
