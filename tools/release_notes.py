"""Prints what CHANGELOG.md says of a version: `python tools/release_notes.py 0.1.0`, or `Unreleased`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(changelog: str, version: str) -> str:
    r"""The section of a version, without its heading.

    >>> notes("## [1.1] - 2026-05-01\n\n- more\n\n## [1.0]\n\n- all\n", "1.1")
    '- more'

    Raises:
        ValueError: there is no such section, or it is empty.
    """
    sections = re.split(r"^## \[(.+?)\].*$", changelog, flags=re.MULTILINE)
    found = dict(zip(sections[1::2], sections[2::2], strict=True))
    if version not in found:
        raise ValueError(f"CHANGELOG.md has no section [{version}]; it has: {', '.join(found)}")
    # Definitions of links, which stand at the end of the file, belong to no version.
    text = re.sub(r"^\[[^\]]+\]: .*$", "", found[version], flags=re.MULTILINE).strip()
    if not text:
        raise ValueError(f"the section [{version}] of CHANGELOG.md is empty")
    return text


if __name__ == "__main__":
    try:
        print(notes(CHANGELOG.read_text(encoding="utf-8"), *sys.argv[1:]))
    except (TypeError, ValueError) as error:
        sys.exit(str(error) if isinstance(error, ValueError) else "say which version: make notes VERSION=0.1.0")
