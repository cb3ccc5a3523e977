"""The changelogs of an application: what Kafka Streams would write, and can restore."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import (
    Consumed,
    Grouped,
    Materialized,
    Processor,
    Serdes,
    SessionWindows,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.jvm.java import find_java
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.testing import TopologyTestDriver

from ..conftest import Apps

cloudpickle.register_pickle_by_value(sys.modules[__name__])
sys.path.append(str(Path(__file__).parents[3] / "bench"))

from peers.build import BuildError, build  # noqa: E402

TEXTS = Consumed(Serdes.string, Serdes.string)
DAY = timedelta(days=1)
#: Brokers delete what is older than the retention of windows, by their own clock.
START = int(time.time()) * 1000 - 600_000
KEYS = [f"k{number}" for number in range(7)]

Record = tuple[str, str, int]


class Last(Processor[str, str, Any, Any]):
    """Keeps the last value of each key."""

    def init(self, context: Any) -> None:
        self.last = context.state_store("last")

    def process(self, record: Any) -> None:
        self.last.put(record.key, record.value)


def topology(topic: str) -> Topology:
    """A key-value, a timestamped, a window and a session store; as in bench/peers/RestorePeer.java."""
    builder = StreamsBuilder()
    words = builder.stream(topic, TEXTS)
    grouped = words.group_by_key(Grouped(Serdes.string, Serdes.string))
    grouped.count(materialized=Materialized("counts"))
    minutes = TimeWindows.of_size(timedelta(minutes=1), grace=DAY)
    grouped.windowed_by(minutes).count(materialized=Materialized("minutes", logging={"segment.bytes": "1048576"}))
    visits = SessionWindows.of_inactivity_gap(timedelta(seconds=5), grace=DAY)
    grouped.windowed_by(visits).count(materialized=Materialized("visits"))
    builder.add_state_store(Stores.key_value_store(Stores.persistent_key_value("last"), Serdes.string, Serdes.string))
    words.process(Last, "last")
    return builder.build()


def some(count: int, seed: int) -> list[Record]:
    chance = random.Random(seed)
    return [(chance.choice(KEYS), f"v{number}", START + chance.randrange(600_000)) for number in range(count)]


def rows_of_the_test_driver(records: list[Record]) -> set[tuple[Any, ...]]:
    """What is in the stores after records, as the test driver has it."""
    found: set[tuple[Any, ...]] = set()
    with TopologyTestDriver(topology("in")) as driver:
        source = driver.input_topic("in", Serdes.string, Serdes.string)
        for key, value, timestamp in records:
            source.pipe(key, value, timestamp=timestamp)
        for key, (count, timestamp) in driver.timestamped_key_value_store("counts").all():
            found.add(("counts", key, timestamp, 0, str(count)))
        for key, value in driver.key_value_store("last").all():
            found.add(("last", key, 0, 0, value))
        for windowed, (count, timestamp) in driver.timestamped_window_store("minutes").all():
            found.add(("minutes", windowed.key, windowed.window.start, timestamp, str(count)))
        for key in KEYS:
            for windowed, count in driver.session_store("visits").fetch(key):
                found.add(("visits", key, windowed.window.start, windowed.window.end, str(count)))
    return found


def changelogs(admin: Admin, config: StreamsConfig) -> dict[str, int]:
    """The stores of an application that have changelogs, and how many partitions those have."""
    begin, end = f"{config.application_id}-", "-changelog"
    return {
        name.removeprefix(begin).removesuffix(end): count
        for name, count in admin.topics().items()
        if name.startswith(begin) and name.endswith(end)
    }


@pytest.fixture(scope="module")
def classpath() -> str:
    """Of the Java peers."""
    try:
        return build()
    except BuildError as error:
        pytest.skip(f"Kafka Streams cannot be built here: {error}")


def test_kafka_streams_restores_our_changelogs(
    batches: Apps,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    broker: DevBroker,
    classpath: str,
    tmp_path: Path,
) -> None:
    topic, records = make_topic(1, name="in"), some(400, seed=3)
    config = batches.config(statestore_cache_max_bytes=10_000_000)
    for half in (records[:200], records[200:]):
        produce(topic, half)
        batches.run_once(topology(topic), config)
    assert config.application_id is not None
    command = [find_java(), "-cp", classpath, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "RestorePeer"]
    command += [broker.bootstrap_servers, config.application_id, topic, str(tmp_path), *KEYS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)  # noqa: S603 - ours
    assert done.returncode == 0, done.stderr[-3000:]
    found = {tuple(json.loads(line).values()) for line in done.stdout.splitlines()}
    assert found == rows_of_the_test_driver(records)


def test_changelogs_have_the_settings_of_kafka_streams(
    batches: Apps,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    broker: DevBroker,
) -> None:
    topic = make_topic(3, name="in")
    config = batches.config()
    produce(topic, some(10, seed=4))
    batches.run_once(topology(topic), config)
    with closing(Admin(StreamsConfig(application_id="look", bootstrap_servers=broker.bootstrap_servers))) as admin:
        made = {name: count for name, count in admin.topics().items() if name.endswith("-changelog")}
        assert {
            name.removeprefix(f"{config.application_id}-"): count
            for name, count in made.items()
            if str(config.application_id) in name
        } == {f"{store}-changelog": 3 for store in ("counts", "minutes", "visits", "last")}
        settings = {
            store: admin.topic_settings(f"{config.application_id}-{store}-changelog")
            for store in ("counts", "minutes", "visits", "last")
        }
    assert {store: found["cleanup.policy"] for store, found in settings.items()} == {
        "counts": "compact",
        "last": "compact",
        "minutes": "compact,delete",
        "visits": "compact,delete",
    }
    assert settings["minutes"]["segment.bytes"] == "1048576"
    day = 24 * 60 * 60 * 1000
    assert settings["minutes"]["retention.ms"] == str(60_000 + day + day)  # windows, their grace, and a day more
    last = {(message.key() or b"").decode(): message for message in consume(f"{config.application_id}-last-changelog")}
    assert {key: (message.value() or b"").decode() for key, message in last.items()} == {
        key: value for key, value, _ in sorted(some(10, seed=4), key=lambda record: record[1])
    }


def test_what_is_not_logged_has_no_changelog(
    batches: Apps, make_topic: Callable[..., str], produce: Callable[..., None], broker: DevBroker
) -> None:
    topic, config = make_topic(1, name="in"), batches.config(topology_optimization="all")
    builder = StreamsBuilder()
    builder.table(topic, TEXTS, Materialized("table"))
    other = make_topic(1, name="other")
    grouped = builder.stream(other, TEXTS).group_by_key(Grouped(Serdes.string, Serdes.string))
    grouped.count(materialized=Materialized("forgotten", logging=False))
    produce(topic, [("k", "v")])
    produce(other, [("k", "v")])
    batches.run_once(builder.build(config), config)
    with closing(Admin(StreamsConfig(application_id="look", bootstrap_servers=broker.bootstrap_servers))) as admin:
        assert not [
            name for name in admin.topics() if name.startswith(f"{config.application_id}-") and "changelog" in name
        ]
