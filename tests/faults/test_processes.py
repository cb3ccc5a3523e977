"""Lanes that hang and die under a real application."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from millstream import Consumed, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.errors import StreamsError
from millstream.kafka.detached import DetachedBroker
from millstream.spark.calls import run_directory
from millstream.spark.client import KafkaStreams

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # lanes cannot import tests

_PATIENCE = timedelta(seconds=180)
_ALONE = "MILLSTREAM_TEST_ALONE"


def _run_once(
    broker: DetachedBroker, directory: Path, topic: str, out: str, function: Callable[[str, str], bool]
) -> KafkaStreams:
    texts = Consumed(Serdes.string, Serdes.string)
    builder = StreamsBuilder()
    builder.stream(topic, texts).filter(function).to(out, Produced(Serdes.string, Serdes.string))
    config = StreamsConfig(
        application_id=f"app-{uuid.uuid4().hex[:8]}",
        bootstrap_servers=broker.bootstrap_servers,
        processing_guarantee="exactly_once_v2",
        processing_mode="micro_batch",
        checkpoint_location=directory / "checkpoint",
        state_dir=directory / "state",
        max_poll_interval=timedelta(seconds=6),
    )
    streams = KafkaStreams(builder.build(), config)
    streams.start(once=True)
    return streams


@pytest.mark.skipif(_ALONE in os.environ, reason="it is the process")
def test_lanes_that_hang_and_die() -> None:
    """In a process of its own: what Spark's processes print goes where its JVM was started."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", __file__]
    result = subprocess.run(  # noqa: S603 - our own test
        command, env={**environment, _ALONE: "1"}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(_ALONE not in os.environ, reason="runs in a process of its own")
def test_a_function_that_hangs_and_one_that_kills_its_process(
    broker: DetachedBroker,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Any]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic, out = make_topic(), make_topic()
    produce(topic, [("key", "value")])
    once = tmp_path / "once"

    def hangs_once(key: str, value: str) -> bool:
        import threading

        if not once.exists():
            once.touch()
            threading.Event().wait()
        return True

    streams = _run_once(broker, tmp_path / "hangs", topic, out, hangs_once)
    assert streams.wait(_PATIENCE)
    assert [message.value() for message in consume(out)] == [b"value"]
    said = capfd.readouterr().err
    assert "lane 0 has worked for" in said
    assert "in hangs_once" in said
    assert "lane 0 hung for" in said

    def dies(key: str, value: str) -> bool:
        os.abort()

    with caplog.at_level(logging.WARNING):
        streams = _run_once(broker, tmp_path / "dies", topic, out, dies)
        with pytest.raises(StreamsError, match=r"lane 0 died \(SIGABRT\)") as caught:
            streams.wait(_PATIENCE)
    assert "in dies" in str(caught.value.detail)
    assert caught.value.hint
    said = capfd.readouterr().err
    assert said.count("lane 0 died (SIGABRT)") <= 3
    assert len(said.splitlines()) < 150, said
    assert len(caplog.text.splitlines()) < 100, caplog.text
    base = run_directory.directory("here").parent
    drivers = [path.read_text().split()[0] for path in base.glob(f"*/{run_directory.DRIVER}")]
    assert str(os.getpid()) not in drivers
