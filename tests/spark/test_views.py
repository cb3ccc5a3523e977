"""Asking the stores of an application that runs on Spark."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from datetime import timedelta

import cloudpickle
import pytest

from millstream import (
    Consumed,
    Grouped,
    KafkaStreams,
    Materialized,
    NotReady,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    TimeWindows,
    Topology,
    UnknownStore,
)
from millstream.testing import TopologyTestDriver

from .conftest import Apps
from .crashes import wait_until

cloudpickle.register_pickle_by_value(sys.modules[__name__])

DAY = timedelta(days=1)
START = 1_700_000_000_000
WORDS = [f"w{number}" for number in range(12)]
TEXTS = Consumed(Serdes.string, Serdes.string)


def topology(topic: str) -> Topology:
    builder = StreamsBuilder()
    by_word = builder.stream(topic, TEXTS).group_by(lambda key, word: word, Grouped(Serdes.string, Serdes.string))
    by_word.count(materialized=Materialized("counts"))
    by_word.windowed_by(TimeWindows.of_size(timedelta(minutes=1), grace=DAY)).count(
        materialized=Materialized("minutes")
    )
    by_word.windowed_by(SessionWindows.of_inactivity_gap(timedelta(seconds=5), grace=DAY)).count(
        materialized=Materialized("visits")
    )
    by_word.count(materialized=Materialized("unlogged", logging=False))
    return builder.build()


@pytest.mark.usefixtures("no_lane_is_left")
def test_a_running_application_is_asked(
    either: Apps, make_topic: Callable[..., str], produce: Callable[..., None]
) -> None:
    topic, config = make_topic(2, name="in"), either.config()
    chance = random.Random(11)
    records = [(str(at), chance.choice(WORDS), START + chance.randrange(600_000)) for at in range(600)]
    made = topology(topic)
    streams = KafkaStreams(made, config)
    with pytest.raises(NotReady, match="while the application runs"):
        streams.store("counts")
    produce(topic, records[:300])
    with streams, TopologyTestDriver(topology("in")) as driver:
        source = driver.input_topic("in", Serdes.string, Serdes.string)
        for half in (records[:300], records[300:]):
            for key, word, timestamp in half:
                source.pipe(key, word, timestamp=timestamp)
            if half[0] is not records[0]:
                produce(topic, half)
            counts, minutes, visits = (
                streams.store(name, timeout=timedelta(seconds=120)) for name in ("counts", "minutes", "visits")
            )
            expected = driver.key_value_store("counts")
            wait_until(lambda: dict(counts.all()) == dict(expected.all()), "the counts", 120)  # noqa: B023
            assert [counts.get(word) for word in WORDS] == [expected.get(word) for word in WORDS]
            assert list(counts.range("w1", "w5")) == list(expected.range("w1", "w5"))
            for word in WORDS:
                assert counts.get_with_timestamp(word) == driver.timestamped_key_value_store("counts").get(word)
                windows = list(driver.window_store("minutes").fetch_range(word, 0, START * 2))
                wait_until(lambda: minutes.fetch_range(word) == windows, "the windows", 60)  # noqa: B023
                sessions = list(driver.session_store("visits").fetch(word))
                wait_until(lambda: visits.fetch(word) == sessions, "the sessions", 60)  # noqa: B023
        with pytest.raises(UnknownStore, match="cannot be asked"):
            streams.store("unlogged")
        metadata = streams.query_metadata_for_key("counts", "w1")
        assert metadata.active == streams.views.instance
        (found,) = streams.streams_metadata_for_store("counts")
        assert found.partitions == {0, 1}
        assert metadata.partition in found.partitions
        lags = streams.all_local_store_partition_lags()
        assert {name: set(numbers) for name, numbers in lags.items()} == {
            name: {0, 1} for name in ("counts", "minutes", "visits")
        }
        wait_until(
            lambda: (
                not any(
                    lag.records
                    for numbers in streams.all_local_store_partition_lags().values()
                    for lag in numbers.values()
                )
            ),
            "the end of all lags",
            60,
        )
    with pytest.raises(NotReady):
        counts.get("w1")
