"""The pages of the patterns: their pictures are those of the code, and each has its place in the index."""

from __future__ import annotations

import pytest

import pattern_pictures
from millstream.cli.loading import load_application
from pattern_pictures import PATTERNS, PICTURES, REPOSITORY, names

#: What fits on a page.
MAX_LINES = 100


@pytest.mark.parametrize("name", names())
def test_the_picture_is_that_of_the_code(name: str) -> None:
    picture = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert picture == pattern_pictures.picture(name), "run: python tools/pattern_pictures.py"


def test_there_is_no_picture_of_anything_else() -> None:
    assert sorted(picture.stem for picture in PICTURES.iterdir()) == names()


@pytest.mark.parametrize("name", names())
def test_every_pattern_has_a_page(name: str) -> None:
    page = (PATTERNS / name / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= MAX_LINES
    assert f"docs/images/patterns/{name}.svg" in page
    assert f"millstream run examples.patterns.{name}.app" in page
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## How it works", "## Run it", "## Watch it", "## What is tested"]
    index = (REPOSITORY / "docs" / "patterns.md").read_text(encoding="utf-8")
    assert f"(../examples/patterns/{name}/README.md)" in index
    assert f"(images/patterns/{name}.svg)" in index


@pytest.mark.parametrize("name", names())
def test_the_application_is_found_by_the_command(name: str) -> None:
    application = load_application(f"examples.patterns.{name}.app")
    assert application.config is not None
    assert application.config.exactly_once


@pytest.mark.parametrize("service", ["payment", "stock", "shipping", "order_status"])
def test_a_service_can_be_run_alone(service: str) -> None:
    alone = load_application(f"examples.patterns.event_collaboration.app:{service}").topology
    together = load_application("examples.patterns.event_collaboration.app").topology
    assert 0 < len(alone.nodes) < len(together.nodes)
