"""The names of a task's state files, which say what leads where.

000000000016-000.changes                                    what wave 0 of batch 16 changed
000000000016-000.base                                       everything there was after it
000000000016-000.since-000000000008-000.level-1.merged      what all waves changed after that of batch 8, up to it
000000000016-000.changes.<any name>.tmp                     a file that is being written, or was when somebody died
"""

from __future__ import annotations

import re
from typing import NamedTuple

from millstream.spark.state.stateformat import BEGINNING, Header, Kind, Version

_NAME = re.compile(
    r"(?P<version>\d+-\d+)(?:\.since-(?P<since>\d+-\d+|start)\.level-(?P<level>\d+))?"
    r"\.(?P<kind>changes|base|merged)(?P<unfinished>\..*\.tmp)?"
)


class StateFile(NamedTuple):
    """A file of a task; they are sorted by version, changes before the base of the same version."""

    version: Version
    kind: Kind
    name: str
    size: int
    #: What is merged begins after this version; `BEGINNING` for other files, which tell it inside.
    since: Version = BEGINNING
    #: How often what is in it was merged.
    level: int = 0

    def continues(self, at: Version) -> bool:
        """Whether a task that is at a version is further with what is merged here.

        Also if it is in the middle of it: of each row the last state counts, whether it had an earlier one or not.
        """
        return self.kind is Kind.MERGED and self.since <= at < self.version


class Unfinished(NamedTuple):
    """A file that somebody began to write."""

    version: Version
    name: str


def parse(name: str, size: int) -> StateFile | Unfinished | None:
    """What a file is, by its name; None if it is not ours."""
    found = _NAME.fullmatch(name)
    if found is None or (found["kind"] == "merged") != (found["level"] is not None):
        return None
    version = _version(found["version"])
    if found["unfinished"] is not None:
        return Unfinished(version, name)
    kind = Kind[found["kind"].upper()]
    if kind is not Kind.MERGED:
        return StateFile(version, kind, name, size)
    since = BEGINNING if found["since"] == "start" else _version(found["since"])
    return StateFile(version, kind, name, size, since, int(found["level"]))


def name_of(header: Header, level: int = 0) -> str:
    """The name of a file.

    >>> name_of(Header("0_0", Kind.MERGED, Version(16, 0), Version(8, 0)), level=1)
    '000000000016-000.since-000000000008-000.level-1.merged'
    """
    kind = header.kind.name.lower()
    if header.kind is not Kind.MERGED:
        return f"{stem(header.version)}.{kind}"
    since = "start" if header.predecessor is None else stem(header.predecessor)
    return f"{stem(header.version)}.since-{since}.level-{level}.{kind}"


def stem(version: Version) -> str:
    """A version as names begin with it."""
    return f"{version.batch:012d}-{version.wave:03d}"


def _version(text: str) -> Version:
    batch, wave = text.split("-")
    return Version(int(batch), int(wave))
