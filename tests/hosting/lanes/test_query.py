"""Where the tasks of a query lie."""

from __future__ import annotations

from millstream import Repartitioned, StreamsBuilder, StreamsConfig
from millstream.hosting.lanes.query import HostedQuery


def slots(**counts: int) -> dict[str, int]:
    builder = StreamsBuilder()
    for topic in counts:
        builder.stream(topic).to("out")
    query = HostedQuery("q", builder.build(), StreamsConfig(application_id="app"), {**counts, "out": 1}, {})
    return {task.name: task.slot for task in query.tasks}


def test_a_task_keeps_its_slot_when_another_topic_grows() -> None:
    before, after = slots(a=4, b=4), slots(a=6, b=4)
    assert after.items() >= before.items()
    assert len(after) == 10


def test_lanes_share_the_tasks_of_a_part() -> None:
    assert len(set(slots(a=32).values())) == 32
    halves = [slot < 16 for slot in slots(a=4).values()]
    assert 0 < sum(halves) < 4


def test_each_task_of_an_application_has_its_own_slot() -> None:
    """And lanes get tasks of every part, whether slots are dealt out or cut in two."""
    builder = StreamsBuilder()
    builder.stream("a").select_key(lambda key, value: value).repartition(Repartitioned(name="again")).to("out")
    counts = {"a": 4, "app-again-repartition": 4, "out": 1}
    config = StreamsConfig(application_id="app")
    query = HostedQuery("app", builder.build(), config, counts, {}, slots=8, stride=2)
    assert sorted(task.slot for task in query.tasks) == list(range(8))
    for dealt, cut in ((0, 0), (1, 1)):
        assert sorted(task.sub_topology for task in query.tasks if task.slot % 2 == dealt) == [0, 0, 1, 1]
        assert sorted(task.sub_topology for task in query.tasks if task.slot // 4 == cut) == [0, 0, 1, 1]
