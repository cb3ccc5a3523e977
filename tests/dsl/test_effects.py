"""Operators that are there for their effects: print, foreach, peek."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream import ArgumentError, KStream, Serdes, StreamsBuilder
from millstream.testing import TopologyTestDriver

RECORDS = [("in", "k", "v"), ("in", None, "w"), ("in", "k", None)]


def test_print_writes_to_standard_output(
    texts: KStream[str, str], run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    texts.print("seen")
    run(RECORDS)

    assert capsys.readouterr().out == "[seen]: k, v\n[seen]: None, w\n[seen]: k, None\n"


def test_print_is_labelled_by_the_node_above(
    texts: KStream[str, str], run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    texts.print()
    texts.filter(lambda key, value: value is not None, name="some").print()
    run(RECORDS[:1])

    assert capsys.readouterr().out == "[KSTREAM-SOURCE-0000000000]: k, v\n[some]: k, v\n"


def test_print_takes_the_lines_from_a_mapper(
    texts: KStream[str, str], run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    texts.print("seen", mapper=lambda key, value: f"{key} -> {value}")
    run(RECORDS[:1])

    assert capsys.readouterr().out == "[seen]: k -> v\n"


@pytest.mark.parametrize("kind", [str, Path])
def test_print_appends_to_a_file(texts: KStream[str, str], run: Any, tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("before\n", encoding="utf-8")
    texts.print("seen", file=kind(path))
    run(RECORDS[:2])

    assert path.read_text(encoding="utf-8") == "before\n[seen]: k, v\n[seen]: None, w\n"


def test_print_makes_no_file_without_records(texts: KStream[str, str], run: Any, tmp_path: Path) -> None:
    texts.print(file=tmp_path / "lines.txt")
    run([])

    assert list(tmp_path.iterdir()) == []


def test_print_needs_a_file_with_a_name(texts: KStream[str, str]) -> None:
    with pytest.raises(ArgumentError, match="print needs the name of a file"):
        texts.print(file="")


def test_print_has_a_node_of_its_own(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.print(name="show")
    texts.print()

    assert [name for name in builder.build().nodes if name != "KSTREAM-SOURCE-0000000000"] == [
        "show",
        "KSTREAM-PRINTER-0000000002",
    ]


def test_foreach_and_peek_see_every_record(builder: StreamsBuilder, texts: KStream[str, str], run: Any) -> None:
    seen: list[tuple[str, str | None, str | None]] = []
    texts.peek(lambda key, value: seen.append(("peek", key, value))).foreach(
        lambda key, value: seen.append(("foreach", key, value))
    )
    run(RECORDS)

    assert seen == [(what, key, value) for _, key, value in RECORDS for what in ("peek", "foreach")]


def test_what_peek_returns_is_ignored(texts: KStream[str, str], run: Any) -> None:
    texts.peek(lambda key, value: "something else").to("out")

    assert run(RECORDS[:1]) == [("k", "v")]


def test_files_are_closed_with_the_driver(builder: StreamsBuilder, texts: KStream[str, str], tmp_path: Path) -> None:
    texts.print("seen", tmp_path / "lines.txt")
    driver = TopologyTestDriver(builder.build())
    driver.input_topic("in", Serdes.string, Serdes.string).pipe("k", "v")
    driver.close()  # a file left open is a warning, and warnings are errors

    assert (tmp_path / "lines.txt").read_text(encoding="utf-8") == "[seen]: k, v\n"
