"""Applications on Spark, in this process, on the run's broker."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import Consumed, Grouped, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig, Topology
from millstream.config import ProcessingMode
from millstream.kafka.detached import DetachedBroker
from millstream.spark.calls.processes import alive
from millstream.spark.client import KafkaStreams
from millstream.spark.runtimes.continuous import ContinuousRuntime
from millstream.spark.startup.session import spark_session

from .crashes import wait_until

# Lanes cannot import tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

PATIENCE = timedelta(seconds=180)


class Apps:
    """Makes and runs applications. Spark's session is that of the process and lives as long."""

    def __init__(self, bootstrap_servers: str, directory: Path, mode: ProcessingMode) -> None:
        spark_session(StreamsConfig(num_stream_threads=2, state_dir=directory))
        self._bootstrap_servers = bootstrap_servers
        self._directory = directory
        self.mode = mode

    def config(self, **options: Any) -> StreamsConfig:
        """A configuration with names of its own, texts, no caching, exactly once."""
        name = f"app-{uuid.uuid4().hex[:8]}"
        return StreamsConfig(
            **{
                "application_id": name,
                "bootstrap_servers": self._bootstrap_servers,
                "processing_guarantee": "exactly_once_v2",
                "processing_mode": self.mode,
                "default_key_serde": Serdes.string,
                "default_value_serde": Serdes.string,
                "statestore_cache_max_bytes": 0,
                "checkpoint_location": self._directory / f"{name}-checkpoint",
                "state_dir": self._directory / f"{name}-state",
                **options,
            }
        )

    def run_once(self, topology: Topology, config: StreamsConfig) -> KafkaStreams:
        """Process what is there."""
        streams = KafkaStreams(topology, config)
        streams.start(once=True)
        assert streams.wait(PATIENCE), f"{config.application_id} has not ended"
        return streams


@pytest.fixture(scope="session")
def apps(broker: DetachedBroker, tmp_path_factory: pytest.TempPathFactory) -> Apps:
    """Makes and runs applications on the run's broker, in the way that users get if they say nothing."""
    return Apps(broker.bootstrap_servers, tmp_path_factory.mktemp("apps"), StreamsConfig().processing_mode)


@pytest.fixture(scope="session")
def batches(broker: DetachedBroker, tmp_path_factory: pytest.TempPathFactory) -> Apps:
    """The same, batch after batch: for tests that are about batches, checkpoints and files of state."""
    return Apps(broker.bootstrap_servers, tmp_path_factory.mktemp("batches"), "micro_batch")


@pytest.fixture(params=get_args(ProcessingMode))
def either(request: pytest.FixtureRequest, broker: DetachedBroker, tmp_path: Path) -> Apps:
    """The same in each of the ways: for tests of what holds in both."""
    return Apps(broker.bootstrap_servers, tmp_path, request.param)


@pytest.fixture
def counting() -> Callable[..., Topology]:
    """`counting(topic, out, store="counts")`: a running count of each key."""

    def build(topic: str, out: str, store: str = "counts", value: Any = Serdes.string) -> Topology:
        builder = StreamsBuilder()
        (
            builder.stream(topic, Consumed(Serdes.string, value))
            .group_by_key(Grouped(Serdes.string, value))
            .count(materialized=Materialized(store))
            .to_stream()
            .to(out, Produced(Serdes.string, Serdes.long))
        )
        return builder.build()

    return build


@pytest.fixture
def counts(consume: Callable[..., list[Message]]) -> Callable[..., dict[str, list[int]]]:
    """`counts(topic)`: the committed counts of each key, in their order; with a number it waits for so many."""

    def read(topic: str, count: int | None = None) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for message in consume(topic, count, timeout=PATIENCE.total_seconds()):
            key, value = message.key() or b"", message.value() or b""
            found.setdefault(key.decode(), []).append(int.from_bytes(value, "big"))
        return found

    return read


@pytest.fixture
def short_tempdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory for runs: their sockets want a short path. `tmp_path`, so that pytest's is elsewhere."""
    base = tempfile.mkdtemp(prefix="ms-", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", base)
    yield Path(base)

    def is_removed() -> bool:
        shutil.rmtree(base, ignore_errors=True)
        return not Path(base).exists()

    wait_until(is_removed, "nobody to write there any more", 60)  # how a lane ended may be noted a little later


@pytest.fixture
def no_lane_is_left() -> Iterator[None]:
    """After a test, the lanes of its applications have ended."""
    yield
    wait_until(lambda: not lanes(), f"the end of lanes {lanes()}", 60)


def processes_of_lanes(streams: KafkaStreams) -> dict[int, int]:
    """The process of each lane of an application that runs continuously."""
    runtime = streams._runtime
    assert isinstance(runtime, ContinuousRuntime)
    assert runtime._job is not None
    return {lane: hello.process for lane, hello in runtime._job.lanes.items()}


def lanes() -> list[int]:
    """The lanes of applications in batches of which this process is the driver."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            ours = len(command) > 5 and command[2] == b"millstream.spark.lanes.server"
            if ours and int(command[5]) == os.getpid() and alive(int(entry.name)):
                found.append(int(entry.name))
    return found
