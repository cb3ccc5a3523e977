"""The documentation is true: every Python block of every page runs, and prints what the page says it prints.

The blocks of a page run in order, in one namespace. A `text` block right after a Python block is what it prints.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import FENCE, Block, blocks, run

ROOT = Path(__file__).parents[2]
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PATTERNS = sorted((ROOT / "examples" / "patterns").glob("*/README.md"))
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").glob("*.md")), *PATTERNS]

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name_of(page: Path) -> str:
    """What a page is called in tests; all patterns have a README."""
    return page.parent.name if page in PATTERNS else page.name


def anchors(page: str) -> set[str]:
    """The anchors that headings make, as code hosts make them."""
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in _HEADING.findall(page)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # pages write pictures and stores
    run(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in _LINK.finditer(FENCE.sub("", text)):
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
        name_of(page)
        for page in PAGES
        if "" in (fence["language"] for fence in FENCE.finditer(page.read_text("utf-8")))
    ]
    assert bare == []


def test_blocks_are_found_with_what_they_print() -> None:
    page = "# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nx = 2\n```\n\nand\n\n```text\n3\n```\n"
    assert blocks(page) == [Block(3, "print(1)\n", "1\n"), Block(11, "x = 2\n", None)]
