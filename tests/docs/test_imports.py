"""The import graph is read from the code, and its arrows go one way; the folder listing knows every package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from folder_listing import SOURCE, listing
from import_graph import Parts, main, page, picture, read

FOUND = read()


@pytest.mark.parametrize("parts", FOUND, ids=lambda parts: parts.package)
def test_imports_go_one_way(parts: Parts) -> None:
    order = parts.order()
    assert sorted(order) == sorted(parts.imports)
    against = [
        (part, imported)
        for part, others in parts.imports.items()
        for imported in others
        if order.index(imported) < order.index(part)
    ]
    assert against == []


def test_the_whole_is_read() -> None:
    whole = FOUND[0]
    assert whole.package == "millstream"
    assert "sql" in whole.imports["cli"]
    assert whole.imports["errors"] == frozenset()


def test_a_circle_is_told() -> None:
    circle = Parts("p", {"a": frozenset("b"), "b": frozenset("a")})
    with pytest.raises(ValueError, match=r"imports of p go in a circle: [ab] -> [ab] -> [ab]"):
        circle.order()


def test_a_drawing_has_every_part_and_only_arrows_that_do_not_follow() -> None:
    parts = Parts("p", {"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})
    assert parts.essential() == {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset()}
    drawing = picture(parts)
    assert re.findall(r">(\w)</text>", drawing) == ["a", "b", "c"]
    assert drawing.count("<polyline") == 2


def test_arrows_point_downwards() -> None:
    for parts in FOUND:
        for points in re.findall(r'<polyline points="([^"]+)"', picture(parts)):
            heights = [float(point.split(",")[1]) for point in points.split()]
            assert heights == sorted(heights)
            assert heights[0] < heights[-1]


def test_files_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(tmp_path / "graph")
    assert (tmp_path / "graph" / "imports.md").read_text(encoding="utf-8") == page(FOUND)
    assert len(capsys.readouterr().out.splitlines()) == len(FOUND)


def test_every_package_is_listed_and_says_what_it_is() -> None:
    packages = [path.parent for path in SOURCE.rglob("__init__.py")]
    lines = listing()
    folders = [line.split()[0] for line in lines if line.split()[0].endswith("/")]
    assert sorted(folders) == sorted(f"{package.name}/" for package in packages)
    assert [line for line in lines if len(line.split()) < 2] == []
