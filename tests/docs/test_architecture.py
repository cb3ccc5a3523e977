"""ARCHITECTURE.md names files that exist, and every step of its walks names where it happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "millstream"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

#: How each walk begins: a heading, or a sentence before a list.
WALKS = (
    "## The way of a record",
    "The way of a batch",
    "The way of a statement",
)

_CODE = re.compile(r"`([^`\n]+)`")
#: A path of a file or folder, a module, or a test's: what looks like one must be there.
_FILE = re.compile(r"[\w./<>-]*\w\.(?:py|lark|sh|toml|md|lock)|(?:[\w<>.-]+/)+(?:[\w-]+|<\w+>)?")
_PLACEHOLDER = re.compile(r"<[^>]+>")


def prose(page: str) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def named_files(text: str) -> Iterator[str]:
    """What is named in backticks and looks like a file or folder."""
    for code in _CODE.findall(text):
        if _FILE.fullmatch(code):
            yield code


def exists(name: str) -> bool:
    """Whether a name is that of something: from the top, from the package, or anywhere in the package by its end."""
    if _PLACEHOLDER.search(name):
        name = _PLACEHOLDER.split(name)[0]
    name = name.rstrip("/").removeprefix("millstream/")
    if (ROOT / name).exists() or (SOURCE / name).exists():
        return True
    return any(True for _ in SOURCE.rglob(name))


def steps(beginning: str) -> list[str]:
    """The numbered steps of a walk."""
    at = re.search(rf"^{re.escape(beginning)}", PAGE, re.MULTILINE)
    assert at is not None, f"ARCHITECTURE.md has no {beginning!r}"
    found: list[str] = []
    for line in PAGE[at.end() :].splitlines():
        if re.match(r"\d+\. ", line):
            if line.startswith("1. ") and found:
                break
            found.append(line)
        elif found and line.startswith(" "):
            found[-1] += "\n" + line
        elif found and line.strip():
            break
    return found


def test_files_that_are_named_exist() -> None:
    named = list(named_files(prose(PAGE)))
    assert len(named) > 50  # so many there are, and the test finds them
    assert [name for name in named if not exists(name)] == []


@pytest.mark.parametrize("walk", WALKS)
def test_every_step_of_a_walk_says_where(walk: str) -> None:
    found = steps(walk)
    assert len(found) > 3
    assert [step.splitlines()[0] for step in found if not any(map(exists, named_files(step)))] == []


def test_modules_of_the_file_map_exist() -> None:
    """In the block of the file map: a folder, then names of its modules."""
    block = PAGE[PAGE.index("## File map") :]
    files = re.findall(r"\b(\w+\.py)\b", block)
    assert [name for name in files if not exists(name)] == []
    folders = re.findall(r"^  (\w+/)", block, re.MULTILINE)
    assert sorted(folders) == sorted(f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py"))


def test_what_looks_like_a_file_is_found() -> None:
    text = "`task/queues.py`, `dsl/`, `tests/<part>`, `Task.save`, `make lint`, `.lock`, `a/b`, `pyproject.toml`"
    assert list(named_files(text)) == ["task/queues.py", "dsl/", "tests/<part>", "a/b", "pyproject.toml"]
    assert exists("task/queues.py")
    assert not exists("task/queue_of_nothing.py")
