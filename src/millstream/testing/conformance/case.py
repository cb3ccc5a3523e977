"""The case as it is written in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.errors import ArgumentError

#: One operator call of a case's topology, one step, one expected record: plain JSON.
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One scenario: a topology, its input and what came out of it."""

    file: str
    id: str
    family: str
    config: Json
    topology: list[Json]
    steps: list[Json]
    expected: Json

    def input_keys(self) -> list[str]:
        """The distinct keys that are piped in, in order of appearance."""
        keys = (step["pipe"]["key"] for step in self.steps if "pipe" in step)
        return list(dict.fromkeys(key for key in keys if key is not None))


def load_cases(path: str | Path) -> list[Case]:
    """Read a case file.

    Raises:
        ArgumentError: the file is not an array of cases.
        OSError: the file cannot be read.
    """
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
        return [_case(str(path), row) for row in rows]
    except (json.JSONDecodeError, TypeError, KeyError) as error:
        raise ArgumentError(
            f"{path} is not a file of conformance cases",
            detail=f"{type(error).__name__}: {error}",
            hint="a case file is a JSON array of cases",
        ) from error


def _case(file: str, row: Json) -> Case:
    return Case(
        file=file,
        id=row["id"],
        family=row["family"],
        config=row["config"],
        topology=row["topology"],
        steps=row["steps"],
        expected=row["expected"],
    )
