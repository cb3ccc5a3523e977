"""Merging change files in levels, so that there are few of them, and a batch costs what it changed.

Files of changes are of level 0. As soon as there are `RUN` of one level in a row, they are merged into one of the next,
so that a change is written once more per level: as often as the logarithm of the number of batches, whatever there is
beside it. What is larger than `MOST_BYTES` is not merged any more: a merge has its rows in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from millstream.spark.state.filenames import StateFile
from millstream.state import segments

RUN = 8
MOST_BYTES = 32 * 1024 * 1024
_ENTRIES_A_CHUNK = 20_000


def run_to_merge(parts: Sequence[StateFile], batch: int) -> list[StateFile]:
    """Files that are to be merged now; none if there are too few of them.

    Args:
        parts: the files after the base, in their order.
        batch: those of earlier batches are not written again.
    """
    final = [part for part in parts if part.version.batch < batch]
    for _, group in groupby(reversed(final), key=lambda part: part.level):  # the small ones are the last
        level = list(group)[::-1]
        if len(level) < RUN:
            continue
        for run in _fitting(level):
            if len(run) > 1:
                return run
    return []


def _fitting(files: Iterable[StateFile]) -> Iterator[list[StateFile]]:
    """Files as runs that may be merged, each as long as it can be."""
    run: list[StateFile] = []
    for file in files:
        if len(run) == RUN or (run and sum(one.size for one in run) + file.size > MOST_BYTES):
            yield run
            run = []
        run.append(file)
    yield run


class Merged:
    """What several files have together, the oldest first: of each row the last state counts.

    Deletions are kept, as older files may have the row.
    """

    def __init__(self) -> None:
        self._stores: dict[str, dict[bytes, bytes | None]] = {}

    def add(self, store: str, segment: bytes) -> None:
        """Take what a file has of a store."""
        self._stores.setdefault(store, {}).update(segments.decode(segment))

    def parts(self) -> Iterator[tuple[str, bytes]]:
        """All of it as segments, by store."""
        for store, entries in self._stores.items():
            for segment in in_segments(entries.items()):
                yield store, segment


def in_segments(entries: Iterable[tuple[bytes, bytes | None]]) -> Iterator[bytes]:
    """Entries of a store, as segments of some thousands each."""
    iterator = iter(entries)
    while chunk := dict(islice(iterator, _ENTRIES_A_CHUNK)):
        yield segments.encode(chunk)
