"""The five operators of a foreign-key join, alone and together."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.foreign_key import Instruction, ResponseJoin, ResponseWrapper, SubscriptionSend
from millstream.processors.tables.view import store_view
from millstream.serdes import Serdes
from millstream.serdes.deferred import DEFAULT_KEY, DEFAULT_VALUE

Lab = Any


def sent(task: Any, new: Any, old: Any) -> list[tuple[Any, str]]:
    task.send.process("k", (new, old, True), 1, None)
    return [(key, value.instruction.name) for key, value, _ in task.subscriptions.take()]


INSERT, MOVE = "PROPAGATE_ONLY_IF_PRESENT", "PROPAGATE_NULL_IF_ABSENT"
LEAVE, DELETE = "DELETE_NO_PROPAGATE", "DELETE_AND_PROPAGATE"


@pytest.mark.parametrize(
    ("new", "old", "expected", "dropped"),
    [
        ("x1", None, [("x", INSERT)], 0),
        ("x2", "x1", [("x", INSERT)], 0),
        ("y1", "x1", [("x", LEAVE), ("y", MOVE)], 0),
        (None, "x1", [("x", DELETE)], 0),
        ("", "x1", [("x", DELETE)], 0),
        ("x1", "", [("x", INSERT)], 0),
        ("", "", [], 1),
        ("", None, [], 1),
        (None, "", [], 1),
        (None, None, [], 0),
    ],
)
def test_subscriptions_of_an_inner_join(lab: Lab, new: Any, old: Any, expected: Any, dropped: int) -> None:
    task = lab.ForeignKeyTask()
    assert sent(task, new, old) == expected
    assert task.context.dropped_records == dropped


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("x1", None, [("x", MOVE)]),
        ("x2", "x1", [("x", MOVE)]),
        ("y1", "x1", [("x", LEAVE), ("y", MOVE)]),
        (None, "x1", [("x", LEAVE), (None, MOVE)]),
        ("", "x1", [("x", LEAVE), (None, MOVE)]),
        ("", None, [(None, MOVE)]),
        (None, "", [(None, MOVE)]),
        (None, None, []),
    ],
)
def test_subscriptions_of_a_left_join(lab: Lab, new: Any, old: Any, expected: Any) -> None:
    task = lab.ForeignKeyTask(left_join=True)
    assert sent(task, new, old) == expected
    assert task.context.dropped_records == 0


def test_inner_join_end_to_end(lab: Lab) -> None:
    task = lab.ForeignKeyTask()
    assert task.left("k1", "x1", 1) == []
    assert task.right("x", "X", 2) == [("k1", "x1+X", 2)]
    assert task.left("k0", "x0", 1) == [("k0", "x0+X", 2)]  # as late as the right row
    assert task.right("x", "X2", 1) == [("k0", "x0+X2", 1), ("k1", "x1+X2", 1)]  # as late as the update
    assert task.left("k1", "y1", 5) == [("k1", None, 5)]
    assert task.right("x", "X3", 6) == [("k0", "x0+X3", 6)]
    assert task.left("k0", None, 7) == [("k0", None, 7)]
    assert task.right("x", None, 8) == []
    assert task.left("k9", None, 9) == []
    assert task.left("k1", None, 9) == [("k1", None, 9)]  # never joined: a tombstone all the same


def test_left_join_end_to_end(lab: Lab) -> None:
    task = lab.ForeignKeyTask(left_join=True)
    assert task.left("k", "x1", 1) == [("k", "x1+None", 1)]
    assert task.right("x", "X", 2) == [("k", "x1+X", 2)]
    assert task.right("x", None, 3) == [("k", "x1+None", 3)]
    assert task.left("k", "", 4) == [("k", "+None", 4)]
    assert task.left("k", None, 5) == [("k", None, 5)]
    assert task.left("k", None, 6) == []
    assert task.right("x", "X", 7) == []


def test_a_right_tombstone_deletes_the_results_of_an_inner_join(lab: Lab) -> None:
    task = lab.ForeignKeyTask()
    task.right("x", "X", 1)
    task.left("b", "x1", 2)
    task.left("a", "x2", 2)
    assert task.right("x", None, 3) == [("a", None, 3), ("b", None, 3)]


def test_subscribers_of_keys_with_a_common_beginning_are_kept_apart(lab: Lab) -> None:
    task = lab.ForeignKeyTask()
    task.left("k", "x1", 1)
    assert task.right("xx", "X", 2) == []


def test_a_response_to_an_earlier_value_is_dropped(lab: Lab) -> None:
    task = lab.ForeignKeyTask()
    task.right("x", "X", 1)
    task.update_left("k", "x1", 2)
    task.update_left("k", "x2", 3)
    assert task.run() == [("k", "x2+X", 3)]
    assert task.context.dropped_records == 1


def test_updates_that_are_not_the_latest_and_null_keys_are_dropped(lab: Lab) -> None:
    task = lab.ForeignKeyTask()
    task.left("k", "x1", 1)
    task.send.process("k", ("x2", "x1", False), 1, None)
    task.update.process("x", ("X", None, False), 1, None)
    task.update.process(None, ("X", None, True), 1, None)
    assert task.run() == []
    assert task.context.dropped_records == 3


@pytest.mark.parametrize("instruction", [each for each in Instruction if each != Instruction.PROPAGATE_NULL_IF_ABSENT])
def test_a_null_foreign_key_is_received_only_for_an_answer(lab: Lab, instruction: Instruction) -> None:
    task = lab.ForeignKeyTask(left_join=True)
    task.send.process("k", ("", None, True), 1, None)
    [(key, subscription, timestamp)] = task.subscriptions.take()
    task.receive.process(key, subscription._replace(instruction=instruction), timestamp, None)
    assert task.responses.take() == []
    assert task.context.dropped_records == 1
    task.receive.process(key, subscription, timestamp, None)
    assert [(key, value.foreign_value) for key, value, _ in task.responses.take()] == [("k", None)]
    assert task.store.take_changes() == {}


def test_the_responses_know_the_partition_of_the_row(lab: Lab) -> None:
    task = lab.ForeignKeyTask()
    task.context.partition = 5
    task.update_left("k", "x1", 1)
    for key, value, timestamp in task.subscriptions.take():
        task.receive.process(key, value, timestamp, None)
    task.update.process("x", ("X", None, True), 2, None)
    assert [value.primary_partition for _, value, _ in task.responses.take()] == [5]


def test_default_serdes_are_found_in_the_configuration(lab: Lab) -> None:
    context = TaskContext(config={"default_key_serde": Serdes.long, "default_value_serde": Serdes.json})
    context.stores["left"] = lab.TableStore()
    context.store("left").write("k", {"fk": 1}, 0)
    send = SubscriptionSend(
        foreign_key=lambda key, value: value["fk"],
        foreign_key_serde=DEFAULT_KEY,
        value_serde=DEFAULT_VALUE,
        topic="subscriptions",
        left_join=False,
    )
    respond = ResponseJoin(
        left_view=store_view("left"),
        value_serde=DEFAULT_VALUE,
        topic="subscriptions",
        joiner=lambda left, right: right,
        left_join=False,
    )
    sent, responded = lab.Output(), lab.Output()
    send.forward, respond.forward = sent, responded
    lab.start(context, send, respond)
    send.process("k", ({"fk": 1}, {"fk": 2}, True), 0, None)
    rows = sent.take()
    assert [key for key, _, _ in rows] == [2, 1]
    respond.process("k", ResponseWrapper(rows[1][1].hash, "joined"), 0, None)
    assert responded.take() == [("k", "joined", 0)]
