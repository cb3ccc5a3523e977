"""A case of the corpus, and how cases are loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from millstream.errors import ArgumentError

Json = Any


@dataclass(frozen=True)
class Case:
    """A case, its fields as the corpus names them (see the corpus's README)."""

    id: str
    suite: str
    statements: tuple[str, ...]
    topics: Sequence[Json] = ()
    inputs: Sequence[Json] = ()
    outputs: Sequence[Json] = ()
    properties: dict[str, Json] = field(default_factory=dict)
    expected_exception: Json = None
    post: Json = None
    responses: Sequence[Json] = ()
    verify_order: bool = False
    scripts: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    enabled: bool = True

    @classmethod
    def of(cls, raw: Json) -> Case:
        """A case from its JSON form."""
        return cls(
            id=raw["id"],
            suite=raw["suite"],
            statements=tuple(raw["statements"]),
            topics=raw.get("topics") or (),
            inputs=raw.get("inputs") or (),
            outputs=raw.get("outputs") or (),
            properties=raw.get("properties") or {},
            expected_exception=raw.get("expected_exception"),
            post=raw.get("post"),
            responses=raw.get("responses") or (),
            verify_order=bool((raw.get("output_conditions") or {}).get("verifyOrder", False)),
            scripts=raw.get("scripts") or {},
            tags=tuple(raw.get("tags") or ()),
            enabled=raw.get("enabled", True),
        )


def load(paths: Iterable[str | Path]) -> list[Case]:
    """The cases of files and of all JSON files in directories, in order.

    Raises:
        ArgumentError: a path has no cases.
    """
    return [case for path in paths for file in _files(Path(path)) for case in load_file(file)]


def load_file(file: Path) -> Iterator[Case]:
    """The cases of one file. Numbers keep their digits: the scale of a decimal is part of what is expected."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
        cases = [Case.of(raw) for raw in content["cases"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(f"{file} is no file of conformance cases", detail=repr(error)) from error
    return iter(cases)


def _files(path: Path) -> list[Path]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files or not all(file.exists() for file in files):
        raise ArgumentError(f"there are no cases in {path}", hint="give a directory of JSON files, or a JSON file")
    return files
