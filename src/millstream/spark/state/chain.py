"""Which of a task's files lead to a wave, and which nobody needs any more.

Every file says what comes before it: a chain. Where files were merged there are several ways through it, all with the
same end, because of each row the last state counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.spark.state.filenames import StateFile
from millstream.spark.state.stateformat import BEGINNING, Kind, Version


def latest_base(files: Sequence[StateFile], before: Version) -> StateFile | None:
    """The last base before a wave."""
    return max((file for file in files if file.kind is Kind.BASE and file.version < before), default=None)


def way(files: Sequence[StateFile], at: Version | None, before: Version) -> Iterator[StateFile]:
    """The files that lead a task from a version up to a wave, in the longest steps.

    Whether a file really continues where the one before it ends is to be seen when it is read: if one is missing, the
    next that there is comes instead of it.
    """
    steps = [file for file in files if file.kind is not Kind.BASE and file.version < before]
    here = BEGINNING if at is None else at
    while True:
        step = max((file for file in steps if file.continues(here)), default=None, key=lambda file: file.version)
        if step is None:
            step = min((file for file in steps if file.version > here), default=None)
        if step is None:
            return
        yield step
        here = step.version


def useless(files: Sequence[StateFile], batch: int) -> list[StateFile]:
    """Files that no restart can need, if no batch before this one can be run again."""
    final = [file for file in files if file.version.batch < batch]
    base = max((file.version for file in final if file.kind is Kind.BASE), default=BEGINNING)
    merged = [file for file in final if file.kind is Kind.MERGED]
    return [file for file in files if file.version < base or any(_replaces(one, file) for one in merged)]


def _replaces(merged: StateFile, file: StateFile) -> bool:
    """Whether all of a file is in a merged one."""
    if file.kind is Kind.BASE or not merged.since < file.version <= merged.version:
        return False
    return file.kind is Kind.CHANGES or (merged.since <= file.since and merged.level > file.level)
