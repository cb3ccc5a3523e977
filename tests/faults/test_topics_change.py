"""Input topics that are not what they were, on a real broker and Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable

import cloudpickle
from confluent_kafka import Message
from tests.spark.conftest import Apps
from tests.spark.conftest import batches as batches
from tests.spark.conftest import counting as counting
from tests.spark.conftest import counts as counts
from tests.spark.conftest import either as either

from millstream import Consumed, Produced, Serdes, StreamsBuilder, Topology
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic
from millstream.spark.client import KafkaStreams

cloudpickle.register_pickle_by_value(sys.modules[__name__])

TEXT = Consumed(Serdes.string, Serdes.string)
YEAR_3000 = 32_503_680_000_000
START = 1_700_000_000_000

Make = Callable[..., str]
Produce = Callable[..., None]
Consume = Callable[..., list[Message]]
Counts = Callable[..., dict[str, list[int]]]


def test_a_topic_that_is_made_again_is_read_from_its_beginning(
    batches: Apps, counting: Callable[..., Topology], make_topic: Make, produce: Produce, counts: Counts, admin: Admin
) -> None:
    """While the application runs, and while it is down; the new topics are shorter and longer than the old ones."""
    topic, out = make_topic(1), make_topic(1)
    topology, config = counting(topic, out), batches.config()

    def make_again(key: str, count: int) -> None:
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1)])
        produce(topic, [(key, "x")] * count)

    expected = {"old": 100, "shorter": 40, "longer": 300, "while down": 700}
    produce(topic, [("old", "x")] * expected["old"])
    streams = KafkaStreams(topology, config)
    streams.start()
    try:
        counts(out, 100)
        make_again("shorter", expected["shorter"])
        counts(out, 140)
        make_again("longer", expected["longer"])
        counts(out, 440)
    finally:
        streams.close()
    make_again("while down", expected["while down"])
    batches.run_once(topology, config)
    assert counts(out) == {key: list(range(1, count + 1)) for key, count in expected.items()}


def test_a_record_of_the_year_3000_does_not_keep_what_follows_from_its_partners(
    either: Apps, make_topic: Make, produce: Produce, consume: Consume
) -> None:
    """The table's partition had it long ago. What came later is taken by time, although it is more than a batch."""
    table = make_topic(1, message_timestamp_after_max_ms=str(2**63 - 1))
    rows, out = make_topic(1), make_topic(1)
    builder = StreamsBuilder()
    names = builder.table(table, TEXT)
    builder.stream(rows, TEXT).join(names, lambda row, name: f"{row} {name}").to(
        out, Produced(Serdes.string, Serdes.string)
    )
    topology, config = builder.build(), either.config(max_batch_records=500)
    produce(table, [("odd", "odd", YEAR_3000)])
    either.run_once(topology, config)
    produce(table, [(f"k{n}", "name", START + 10 * n) for n in range(3_000)])
    produce(rows, [(f"k{n}", "row", START + 10 * n + 1) for n in range(3_000)])
    either.run_once(topology, config)
    assert len(consume(out)) == 3_000
