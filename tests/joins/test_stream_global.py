"""Joins of a stream with a global table."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.joins import StreamGlobalJoin
from millstream.records import Headers

Lab = Any


def make(lab: Lab, *, left: bool, key: bool = False) -> tuple[StreamGlobalJoin, Any]:
    context = TaskContext()
    context.stores["table"] = lab.TableStore()
    context.stores["table"].write("x", "X", 99)
    operator = StreamGlobalJoin(
        store="table",
        key_selector=lambda k, v: v and (v[0] if v[0] != "-" else None),
        joiner=(lambda k, v, o: f"{k}:{v}-{o}") if key else (lambda v, o: f"{v}-{o}"),
        joiner_takes_key=key,
        left=left,
    )
    operator.forward = lab.Output()
    lab.start(context, operator)
    return operator, operator.forward


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (False, [("k", "x1-X", 5), (None, "x2-X", 5)]),
        (True, [("k", "x1-X", 5), (None, "x2-X", 5), ("k", "y-None", 5), ("k", "--None", 5)]),
    ],
)
def test_records_are_looked_up_by_the_selected_key(lab: Lab, left: bool, expected: Any) -> None:
    operator, output = make(lab, left=left)
    for key, value in (("k", "x1"), (None, "x2"), ("k", "y"), ("k", "-"), ("k", None)):
        operator.process(key, value, 5, None)
    assert output.take() == expected
    assert operator.context.dropped_records == (1 if left else 2)


def test_the_joiner_may_take_the_stream_key(lab: Lab) -> None:
    operator, output = make(lab, left=False, key=True)
    headers = Headers()
    operator.process("k", "x", 5, headers)
    assert output.rows == [("k", "k:x-X", 5, headers)]
