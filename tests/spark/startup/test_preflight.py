"""What is wrong with an application is said before Spark starts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from pyspark.sql import SparkSession

from millstream import Consumed, MillstreamError, SerdeError, Serdes, StreamsBuilder, StreamsConfig, StreamsError
from millstream.spark.driver.metrics import MetricsServer, check_port
from millstream.spark.driver.statistics import Statistics
from millstream.spark.startup import preflight
from millstream.spark.state.checkpoint import checkpoint_location


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def test_missing_serdes() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with pytest.raises(SerdeError, match="has no key serde"):
        preflight.check(builder.build(), StreamsConfig())
    builder = StreamsBuilder()
    builder.stream("in", Consumed(Serdes.string, Serdes.string)).group_by_key().reduce(lambda a, b: a)
    preflight.check(builder.build(), StreamsConfig())
    builder = StreamsBuilder()
    strings = Consumed(Serdes.string, Serdes.string)
    builder.stream("in", strings).group_by_key().aggregate(dict, lambda key, value, all_: all_)
    with pytest.raises(SerdeError, match=r"store 'KSTREAM-AGGREGATE-STATE-STORE-0000000001' has no value serde"):
        preflight.check(builder.build(), StreamsConfig())


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MillstreamError, match="Java is missing"):
        preflight.check(StreamsBuilder().build(), StreamsConfig())


def test_a_port_in_use(taken: int) -> None:
    with pytest.raises(StreamsError, match=f"metrics_port {taken} is in use"):
        check_port(StreamsConfig(metrics_port=taken))
    with pytest.raises(StreamsError, match=f"metrics_port {taken} is in use"):
        MetricsServer("app", Statistics(), taken)
    check_port(StreamsConfig(metrics_port=0))
    check_port(StreamsConfig())


def test_metrics_are_served_where_they_are_wanted() -> None:
    server = MetricsServer("app", Statistics(), 0, "0.0.0.0")  # noqa: S104 - that is what is tested
    with urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        assert b"kafka_streams_process_total" in answer.read()
    server.close()
    with pytest.raises(StreamsError, match=r"cannot be served on 192\.0\.2\.1"):
        check_port(StreamsConfig(metrics_port=0, metrics_host="192.0.2.1"))


def test_a_checkpoint_outlives_a_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = StreamsConfig(application_id="orders")
    assert checkpoint_location(config) == str(tmp_path / "millstream" / "applications" / "orders" / "checkpoint")
    config = StreamsConfig(application_id="orders", state_dir="/state")
    assert checkpoint_location(config) == "/state/orders/checkpoint"
    assert checkpoint_location(StreamsConfig(checkpoint_location="/elsewhere")) == "/elsewhere"
