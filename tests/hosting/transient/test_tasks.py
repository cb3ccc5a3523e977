"""The tasks of a topology in one process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream import Consumed, Grouped, JoinWindows, Materialized, Serdes, StreamsBuilder, StreamsConfig
from millstream.errors import TopologyError
from millstream.hosting.transient.tasks import TaskSet, source_topics
from millstream.kafka.partitioner import partition_for
from millstream.task.records import RawRecord

CONFIG = StreamsConfig(application_id="looking", statestore_cache_max_bytes=0)
TEXT = Consumed(Serdes.string, Serdes.string)


def record(key: str, value: str, timestamp: int, offset: int = 0) -> RawRecord:
    return key.encode(), value.encode(), timestamp, None, offset


def counting(found: list[Any]) -> StreamsBuilder:
    builder = StreamsBuilder()
    words = builder.stream("words", TEXT).group_by(lambda key, word: word, Grouped(Serdes.string, Serdes.string))
    words.count(Materialized("counts")).to_stream().foreach(lambda key, count: found.append((key, count)))
    return builder


def test_what_is_repartitioned_reaches_the_task_of_its_key() -> None:
    found: list[Any] = []
    topology = counting(found).build()
    tasks = TaskSet(topology, CONFIG, {"words": 3})
    assert source_topics(topology) == ["words"]
    assert tasks.merges
    for number in range(3):
        tasks.add(("words", number), [record("k", "one", number), record("k", "two", number)])
    tasks.run()
    assert sorted(found) == [("one", 1), ("one", 2), ("one", 3), ("two", 1), ("two", 2), ("two", 3)]
    tasks.close()


def test_what_several_tasks_write_goes_by_time() -> None:
    found: list[Any] = []
    builder = StreamsBuilder()
    again = builder.stream("words", TEXT).select_key(lambda key, word: "same").repartition()
    again.foreach(lambda key, word: found.append(word))
    tasks = TaskSet(
        builder.build(StreamsConfig(default_key_serde=Serdes.string, default_value_serde=Serdes.string)),
        StreamsConfig(application_id="x", default_key_serde=Serdes.string, default_value_serde=Serdes.string),
        {"words": 2},
    )
    tasks.add(("words", 0), [record("a", "1", 10), record("a", "4", 40)])
    tasks.add(("words", 1), [record("b", "2", 20), record("b", "3", 30)])
    tasks.run()
    assert found == ["1", "2", "3", "4"]
    tasks.close()


def test_joined_topics_need_equally_many_partitions() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("left", TEXT), builder.stream("right", TEXT)
    within = JoinWindows.of_time_difference(timedelta(seconds=1))
    left.join(right, lambda one, other: one + other, within).foreach(lambda key, value: None)
    with pytest.raises(TopologyError, match="not co-partitioned"):
        TaskSet(builder.build(), CONFIG, {"left": 1, "right": 2})


def test_a_stream_that_is_only_read_merges_nothing() -> None:
    found: list[Any] = []
    builder = StreamsBuilder()
    builder.stream("words", TEXT).foreach(lambda key, word: found.append((key, word)))
    tasks = TaskSet(builder.build(), CONFIG, {"words": 4})
    assert not tasks.merges
    tasks.add(("words", partition_for(b"k", 4)), [record("k", "word", 1)])
    tasks.run()
    assert found == [("k", "word")]
    assert tasks.next_punctuation is None
    tasks.close()
