"""`max_task_idle`: whether a task waits for an empty partition."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.config import StreamsConfig
from millstream.processors.user_context import HostContext
from millstream.serdes import Serdes
from millstream.task.errors.handling import ErrorHandling
from millstream.task.queues import QueueGroup, RecordQueue
from millstream.task.source import Source
from millstream.topology.nodes import SourceNode


@pytest.fixture
def group() -> QueueGroup:
    config, context = StreamsConfig(), HostContext()
    source = Source(SourceNode("s", ("a", "b"), key=Serdes.string, value=Serdes.string), config, ("a", "b"), False)
    result = QueueGroup()
    for topic in ("a", "b"):
        queue = RecordQueue(source, topic, 0, context, ErrorHandling(config, context, []), False)
        result.queues[topic, 0] = queue
    return result


def lag(answer: int | None) -> Callable[[str, int], int | None]:
    return lambda topic, partition: answer


def fill(group: QueueGroup, topic: str) -> None:
    group.add(group.queues[topic, 0], [(b"k", b"v", 0, None, 0)])


def test_nothing_buffered_is_never_processable(group: QueueGroup) -> None:
    assert group.is_processable(0, -1, lag(0)) == (False, False)


def test_all_queues_filled_need_no_waiting(group: QueueGroup) -> None:
    fill(group, "a")
    fill(group, "b")
    assert group.is_processable(0, 1000, lag(None)) == (True, False)


def test_without_idling_an_empty_queue_does_not_matter(group: QueueGroup) -> None:
    fill(group, "a")
    assert group.is_processable(0, -1, lag(5)) == (True, False)


@pytest.mark.parametrize("unread", [None, 1])
def test_data_that_is_there_or_may_be_there_is_waited_for(group: QueueGroup, unread: int | None) -> None:
    fill(group, "a")
    assert group.is_processable(0, 0, lag(unread)) == (False, False)
    assert group.is_processable(10**9, 0, lag(unread)) == (False, False)


def test_an_empty_partition_is_given_up_at_its_deadline(group: QueueGroup) -> None:
    fill(group, "a")
    assert group.is_processable(0, 0, lag(0)) == (True, True)

    assert group.is_processable(1000, 100, lag(0)) == (True, True)


def test_the_deadline_starts_when_the_partition_is_first_seen_empty(group: QueueGroup) -> None:
    fill(group, "a")
    assert group.is_processable(1000, 100, lag(0)) == (False, False)
    assert group.is_processable(1099, 100, lag(0)) == (False, False)
    assert group.is_processable(1100, 100, lag(0)) == (True, True)


def test_new_data_clears_the_deadline(group: QueueGroup) -> None:
    fill(group, "a")
    assert group.is_processable(1000, 100, lag(0)) == (False, False)
    fill(group, "b")
    assert group.is_processable(1050, 100, lag(0)) == (True, False)
    fill(group, "a")
    group.poll()
    group.poll()
    assert group.is_processable(1100, 100, lag(0)) == (False, False)
