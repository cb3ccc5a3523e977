"""Runs the Python blocks of pages, and holds what they print against what the page says: `python pages.py PAGE ...`.

The blocks of a page run in order, in one namespace. A `text` block right after a Python block is what it prints. Needs
nothing but what the pages need, so that it can be run in an environment that has only the wheel.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A Python block, the line it begins on, and what it is said to print."""

    line: int
    code: str
    output: str | None


def blocks(page: str) -> list[Block]:
    """The Python blocks of a page."""
    fences = list(FENCE.finditer(page))
    found = []
    for fence, following in zip_longest(fences, fences[1:]):
        if fence["language"] == "python":
            output = None
            if following is not None and following["language"] == "text":
                between = page[fence.end() : following.start()]
                output = following["body"] if not between.strip() else None
            found.append(Block(page.count("\n", 0, fence.start("body")), fence["body"], output))
    return found


def run(page: Path) -> int:
    """Runs the blocks of a page, and gives how many there were.

    Raises:
        AssertionError: a block prints something else than the page says.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(page.read_text(encoding="utf-8"))
    for block in found:
        printed = io.StringIO()
        # Empty lines in front make tracebacks name the line of the page.
        code = compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)  # noqa: S102 - running the documentation is the point
        if block.output is not None and printed.getvalue() != block.output:
            raise AssertionError(
                f"{page.name}, the block at line {block.line + 1} prints\n{printed.getvalue()}and not\n{block.output}"
            )
    return len(found)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(f"{Path(argument).name}: {run(Path(argument))} blocks")
