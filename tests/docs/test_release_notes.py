"""The notes of a release are its section of the changelog; the version is told in one place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import millstream
from release_notes import CHANGELOG, notes

ROOT = Path(__file__).parents[2]

TEXT = """# Changelog

## [Unreleased]

## [1.1.0] - 2026-05-01

### Added

- more

## [1.0.0] - 2026-04-01

- all of it

[1.0.0]: https://example.org/1.0.0
"""


def test_the_section_of_a_version() -> None:
    assert notes(TEXT, "1.1.0") == "### Added\n\n- more"
    assert notes(TEXT, "1.0.0") == "- all of it"


def test_there_is_no_such_section() -> None:
    with pytest.raises(ValueError, match=re.escape("no section [2.0.0]; it has: Unreleased, 1.1.0, 1.0.0")):
        notes(TEXT, "2.0.0")


def test_an_empty_section_is_no_release() -> None:
    with pytest.raises(ValueError, match=re.escape("section [Unreleased] of CHANGELOG.md is empty")):
        notes(TEXT, "Unreleased")


def test_our_own_changelog_can_be_read() -> None:
    assert "- " in notes(CHANGELOG.read_text(encoding="utf-8"), "Unreleased")


def test_the_version_is_told_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/millstream/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", millstream.__version__)
