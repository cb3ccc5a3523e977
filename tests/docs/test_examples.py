"""The documentation is true: every Python block of every page runs, and prints what the page says it prints.

The blocks of a page run in order, in one namespace. A `text` block right after a Python block is what it prints.
"""

from __future__ import annotations

import contextlib
import io
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


class Block(NamedTuple):
    """A Python block, the line it begins on, and what it is said to print."""

    line: int
    code: str
    output: str | None


def blocks(page: str) -> list[Block]:
    """The Python blocks of a page."""
    fences = list(_FENCE.finditer(page))
    found = []
    for fence, following in zip_longest(fences, fences[1:]):
        if fence["language"] == "python":
            output = None
            if following is not None and following["language"] == "text":
                between = page[fence.end() : following.start()]
                output = following["body"] if not between.strip() else None
            found.append(Block(page.count("\n", 0, fence.start("body")), fence["body"], output))
    return found


def anchors(page: str) -> set[str]:
    """The anchors that headings make, as code hosts make them."""
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in _HEADING.findall(page)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # pages write pictures and stores
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        # Empty lines in front make tracebacks name the line of the page.
        code = compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)  # noqa: S102 - running the documentation is the point
        if block.output is not None:
            assert printed.getvalue() == block.output, f"{page.name}, the block at line {block.line + 1}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in _LINK.finditer(_FENCE.sub("", text)):
        target, anchor = link["target"], link["anchor"]
        if "://" in target:
            continue
        file = (page.parent / target) if target else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page.name} links to {target}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md" and page.name not in index]
    assert missing == []


def test_every_block_has_a_language() -> None:
    bare = [
        page.name for page in PAGES if "" in (fence["language"] for fence in _FENCE.finditer(page.read_text("utf-8")))
    ]
    assert bare == []


def test_blocks_are_found_with_what_they_print() -> None:
    page = "# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nx = 2\n```\n\nand\n\n```text\n3\n```\n"
    assert blocks(page) == [Block(3, "print(1)\n", "1\n"), Block(11, "x = 2\n", None)]
