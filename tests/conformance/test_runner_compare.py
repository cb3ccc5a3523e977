"""Comparing a case's expectation with what came."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ArgumentError, ProcessingError, TopologyError
from millstream.testing.conformance.actual import Actual, Failure
from millstream.testing.conformance.case import Case
from millstream.testing.conformance.compare import differences
from millstream.testing.conformance.errors import root_cause, stands_for

JAVA = {
    "topology": "org.apache.kafka.streams.errors.TopologyException",
    "streams": "org.apache.kafka.streams.errors.StreamsException",
    "argument": "java.lang.IllegalArgumentException",
    "null": "java.lang.NullPointerException",
}
RECORD = {"topic": "o", "key": "k", "value": "v", "ts": 5}
OTHER = {"topic": "p", "key": {"key": "k", "start": 0, "end": 10}, "value": 1, "ts": 5}
DESCRIPTION = "Source: A (topics: [x, y])\nProcessor: P (stores: [s, t])\n"


def case(**changes: Any) -> Case:
    expected = {
        "describe": DESCRIPTION,
        "outputs": [[RECORD, OTHER], []],
        "error": None,
        "stores": {"s": [["k", "v", 5]]},
        "store_names": ["s"],
        "dropped_records_total": 1,
        "internal_topics": ["app-s-changelog"],
    }
    steps: list[dict[str, Any]] = [
        {"pipe": {"topic": "in", "key": "k", "value": "v", "ts": 5}},
        {"advance_wall_clock_ms": 1},
    ]
    return Case("f.json", "c", "fam", {}, [], steps, {**expected, **changes})


def actual(**changes: Any) -> Actual:
    result: dict[str, Any] = {
        "describe": "Source: A (topics: [y, x])\nProcessor: P (stores: [t, s])\n",
        "outputs": [[RECORD, OTHER], []],
        "stores": {"s": [["k", "v", 5]]},
        "store_names": ["s"],
        "dropped_records_total": 1,
        "internal_topics": ["app-s-changelog"],
    }
    return Actual(**{**result, **changes})


def test_equal_but_for_the_order_of_sets() -> None:
    assert differences(case(), actual()) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"outputs": [[RECORD], []]},
            'outputs: step 0 [in "k"="v"@5], record 1: expected p k[0/10]=1@5, got nothing',
        ),
        (
            {"outputs": [[{**RECORD, "ts": 6, "headers": [["h", None]]}, OTHER], []]},
            'outputs: step 0 [in "k"="v"@5], record 0: expected o "k"="v"@5, got o "k"="v"@6 [["h", null]]',
        ),
        (
            {"outputs": [[RECORD, OTHER], [RECORD]]},
            'outputs: step 1 [wall clock +1], record 0: expected nothing, got o "k"="v"@5',
        ),
        (
            {"outputs": [[OTHER, RECORD], []]},
            'outputs: step 0 [in "k"="v"@5], order: expected [o "k"="v"@5, p k[0/10]=1@5], '
            'got [p k[0/10]=1@5, o "k"="v"@5]',
        ),
        ({"stores": {"s": [["k", "v", 6]]}}, 'stores: \'s\' expected [["k", "v", 5]], got [["k", "v", 6]]'),
        ({"stores": {}}, "stores: there is no store 's'"),
        ({"store_names": ["s", "t"]}, "store_names: missing [], not expected ['t']"),
        ({"internal_topics": []}, "internal_topics: missing ['app-s-changelog'], not expected []"),
        ({"dropped_records_total": 0}, "dropped_records_total: expected 1, got 0"),
        (
            {"describe": "Source: A (topics: [x, y])\n"},
            "describe: line 2: expected 'Processor: P (stores: [s, t])', got ''",
        ),
    ],
)
def test_one_line_for_each_difference(changes: dict[str, Any], reason: str) -> None:
    assert differences(case(), actual(**changes)) == [reason]


def expected_error(java: str, root: str, **changes: Any) -> dict[str, Any]:
    return {"phase": "build", "class": JAVA[java], "root_class": JAVA[root], **changes}


def failed(error: Exception, step: int | None = None, outputs: list[Any] | None = None) -> Actual:
    return Actual(outputs=outputs or [], failure=Failure(error, step))


def test_an_expected_build_error() -> None:
    wanted = case(error=expected_error("topology", "topology"), describe=None, outputs=[])
    del wanted.expected["stores"], wanted.expected["internal_topics"]
    assert differences(wanted, failed(TopologyError("x"))) == []
    assert differences(wanted, failed(ArgumentError("x"))) == [
        "error: expected TopologyException in build, got ArgumentError: x"
    ]
    assert differences(wanted, Actual()) == ["error: expected TopologyException in build, got none"]
    assert differences(wanted, failed(TopologyError("x"), 0)) == [
        "error: expected TopologyException in build, got at step 0: TopologyError: x"
    ]


def test_an_expected_run_error_and_its_root() -> None:
    wanted = case(error=expected_error("streams", "null", phase="run", step=1), internal_topics=[], describe=None)
    del wanted.expected["stores"]
    outputs: list[Any] = [[RECORD, OTHER], []]

    error = ProcessingError("boom")
    error.__cause__ = TypeError("None")
    assert differences(wanted, failed(error, 1, outputs)) == []
    assert differences(wanted, failed(ProcessingError("boom"), 1, outputs)) == [
        "error: expected the root cause NullPointerException, got ProcessingError: boom"
    ]


def test_an_error_nobody_expected_comes_first() -> None:
    reasons = differences(case(), failed(ZeroDivisionError("by zero"), 0))
    assert reasons[0] == "error: expected none, got at step 0: ZeroDivisionError: by zero"


def test_equivalents() -> None:
    assert stands_for(ArgumentError("x"), JAVA["argument"])
    assert stands_for(ProcessingError("x"), JAVA["streams"])
    assert not stands_for(TopologyError("x"), JAVA["streams"])
    assert not stands_for(ValueError("x"), "java.lang.ArithmeticException")


def test_root_cause_follows_the_chain() -> None:
    first, second, third = KeyError("first"), ProcessingError("second"), ProcessingError("third")
    second.__cause__ = first
    third.__context__ = second
    assert root_cause(third) is first
    third.__suppress_context__ = True
    assert root_cause(third) is third
