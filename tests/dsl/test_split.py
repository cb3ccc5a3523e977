"""Splitting a stream: names, functions and consumers of branches."""

from __future__ import annotations

from typing import Any

import pytest

from millstream import ArgumentError, Branched, KStream, Produced, Serdes, StreamsBuilder, TopologyError

OUT = Produced(value=Serdes.string)
RECORDS = [("in", "k", value) for value in ("a1", "b1", "c1", "a2")]


def starts(letter: str) -> Any:
    return lambda key, value: value.startswith(letter)


def test_unnamed_branches_are_numbered_from_one_and_the_default_is_zero(texts: KStream[str, str]) -> None:
    branches = texts.split("x-").branch(starts("a")).branch(starts("b")).default_branch()

    assert list(branches) == ["x-1", "x-2", "x-0"]


def test_names_are_appended_to_that_of_the_split(texts: KStream[str, str]) -> None:
    branches = texts.split("x-").branch(starts("a"), Branched("a")).branch(starts("b")).default_branch(Branched("rest"))

    assert list(branches) == ["x-a", "x-2", "x-rest"]


def test_without_a_name_the_split_has_a_generated_one(texts: KStream[str, str]) -> None:
    branches = texts.split().branch(starts("a"), Branched("-a")).no_default_branch()

    assert list(branches) == ["KSTREAM-BRANCH-0000000001-a"]


def test_a_record_goes_to_the_first_branch_that_wants_it(texts: KStream[str, str], run: Any) -> None:
    branches = texts.split("x-").branch(starts("a")).branch(lambda key, value: True).default_branch()
    branches["x-1"].map_values(lambda value: f"first {value}").to("out", OUT)
    branches["x-2"].map_values(lambda value: f"second {value}").to("out", OUT)
    branches["x-0"].map_values(lambda value: f"never {value}").to("out", OUT)

    assert [value for _, value in run(RECORDS)] == ["first a1", "second b1", "second c1", "first a2"]


def test_without_a_default_the_rest_is_dropped(texts: KStream[str, str], run: Any) -> None:
    texts.split("x-").branch(starts("b")).no_default_branch()["x-1"].to("out")

    assert [value for _, value in run(RECORDS)] == ["b1"]


def test_a_function_puts_its_result_into_the_dict(texts: KStream[str, str], run: Any) -> None:
    loud = Branched("loud", function=lambda branch: branch.map_values(str.upper))
    branches = texts.split("x-").branch(starts("a"), loud).no_default_branch()
    branches["x-loud"].to("out", OUT)

    assert list(branches) == ["x-loud"]
    assert [value for _, value in run(RECORDS)] == ["A1", "A2"]


def test_a_function_that_returns_nothing_leaves_nothing_in_the_dict(texts: KStream[str, str], run: Any) -> None:
    ends = Branched(function=lambda branch: branch.to("out"))
    branches = texts.split("x-").branch(starts("a"), ends).default_branch()

    assert list(branches) == ["x-0"]
    assert [value for _, value in run(RECORDS)] == ["a1", "a2"]


def test_a_consumer_takes_the_branch_away(texts: KStream[str, str], run: Any) -> None:
    branches = (
        texts.split("x-")
        .branch(starts("a"), Branched("a", consumer=lambda branch: branch.to("out")))
        .default_branch(Branched(consumer=lambda branch: branch.foreach(lambda key, value: None)))
    )

    assert branches == {}
    assert [value for _, value in run(RECORDS)] == ["a1", "a2"]


def test_branches_have_the_serdes_of_the_stream(texts: KStream[str, str], run: Any) -> None:
    texts.split("x-").branch(starts("a")).no_default_branch()["x-1"].group_by_key().reduce(max).to_stream().to("out")

    assert run(RECORDS) == [("k", "a1"), ("k", "a2")]


def test_a_changed_key_is_remembered_in_the_branches(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    changed = texts.select_key(lambda key, value: value).split("x-").branch(starts("a")).no_default_branch()
    changed["x-1"].group_by_key().count()

    assert list(builder.build().internal_topics) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000004-repartition"]


def test_a_branch_has_a_function_or_a_consumer() -> None:
    with pytest.raises(ArgumentError, match="a function or a consumer, not both"):
        Branched(function=lambda branch: branch, consumer=print)


def test_a_function_must_return_a_stream(texts: KStream[str, str]) -> None:
    counts = Branched(function=lambda branch: branch.group_by_key().count())  # type: ignore[arg-type, return-value]
    with pytest.raises(TopologyError, match="must return a KStream or None") as raised:
        texts.split().branch(starts("a"), counts)

    assert "<lambda> at test_split.py:" in str(raised.value.detail)


def test_two_branches_of_one_name_cannot_be_built(builder: StreamsBuilder, texts: KStream[str, str]) -> None:
    texts.split("x-").branch(starts("a"), Branched("a")).branch(starts("b"), Branched("a"))
    with pytest.raises(TopologyError, match="processor x-a is already added"):
        builder.build()
