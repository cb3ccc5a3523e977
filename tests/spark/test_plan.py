"""Which task runs in which wave."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream import (
    Consumed,
    Grouped,
    JoinWindows,
    Serdes,
    StreamsBuilder,
    TopologyError,
)
from millstream.spark.plan import Plan, TaskId

STRINGS = Consumed(Serdes.string, Serdes.string)
GROUPED = Grouped(Serdes.string, Serdes.string)


def waves(plan: Plan) -> list[dict[str, int]]:
    return [dict(part.topics) for part in plan.parts.values()]


def test_tasks_fed_by_topics_alone_run_in_the_first_wave() -> None:
    builder = StreamsBuilder()
    builder.stream("a", STRINGS).group_by_key().count().to_stream().to("out")

    plan = Plan(builder.build(), {"a": 4, "out": 1})

    assert waves(plan) == [{"a": 0}]
    assert plan.waves == 1
    assert plan.tasks == [TaskId(0, partition) for partition in range(4)]


def test_a_repartition_is_a_wave_later_and_has_its_writers_partitions() -> None:
    builder = StreamsBuilder()
    builder.stream("a", STRINGS).group_by(lambda key, value: value, GROUPED).count().to_stream().to("out")

    plan = Plan(builder.build(), {"a": 3})

    repartition = next(iter(plan.internal))
    assert waves(plan) == [{"a": 0}, {repartition: 1}]
    assert plan.internal == {repartition: 3}


def test_a_topic_that_meets_a_repartition_waits_for_it() -> None:
    """So that a join takes both sides by their timestamps."""
    builder = StreamsBuilder()
    left = builder.stream("a", STRINGS).select_key(lambda key, value: value)
    right = builder.stream("b", STRINGS)
    left.join(right, lambda one, two: one + two, JoinWindows.of_time_difference(timedelta(seconds=1))).to("out")

    plan = Plan(builder.build(), {"a": 2, "b": 2})

    by_topic = {topic: wave for part in plan.parts.values() for topic, wave in part.topics.items()}
    assert by_topic["a"] == 0
    assert by_topic["b"] == 1


def test_a_foreign_key_join_comes_back_to_the_left_table() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("left", STRINGS), builder.table("right", STRINGS)
    left.join(right, lambda one, two: one + two, foreign_key=lambda value: value).to_stream().to("out")

    plan = Plan(builder.build(), {"left": 2, "right": 3})

    by_topic = {topic: wave for part in plan.parts.values() for topic, wave in part.topics.items()}
    assert by_topic["left"] == 0
    assert by_topic["right"] == 1, "with the subscriptions, by timestamp"
    assert plan.waves == 3
    left_part = next(part for part in plan.parts.values() if "left" in part.topics)
    assert sorted(left_part.topics.values()) == [0, 2]


def test_every_task_has_one_lane() -> None:
    builder = StreamsBuilder()
    builder.stream("a", STRINGS).group_by(lambda key, value: value, GROUPED).count().to_stream().to("out")
    plan = Plan(builder.build(), {"a": 5})

    owned = [task_id for lane in range(3) for task_id in plan.tasks_of_lane(lane, 3)]

    assert sorted(owned, key=plan.tasks.index) == plan.tasks
    assert all(task_id in plan.tasks_of_lane(plan.lane_of(task_id, 3), 3) for task_id in plan.tasks)


def test_topics_that_are_joined_must_have_equally_many_partitions() -> None:
    builder = StreamsBuilder()
    window = JoinWindows.of_time_difference(timedelta(seconds=1))
    builder.stream("a", STRINGS).join(builder.stream("b", STRINGS), lambda one, two: one + two, window).to("out")

    with pytest.raises(TopologyError, match="partition"):
        Plan(builder.build(), {"a": 2, "b": 3})
