"""A lane as a process of its own, on a real broker and without Spark: asked, killed, failing, and at its end."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from confluent_kafka import Message

from millstream import Grouped, Materialized, Produced, Serdes, StreamsBuilder
from millstream.errors import MillstreamError, ProcessingError, StreamsError
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_consumer
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic
from millstream.spark.calls import client as lane_client
from millstream.spark.calls.handshake import peer
from millstream.spark.calls.label import label_of
from millstream.spark.calls.processes import alive
from millstream.spark.calls.run_directory import drivers_directory
from millstream.spark.calls.shipping import PROGRAM, shipped
from millstream.spark.exchange.parcels import unpack
from millstream.spark.failures import of_spark

from ..crashes import wait_until
from .memory import program_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Application:
    """A count of keys with one lane, of which this process is the driver."""

    def __init__(self, topic: str, out: str, bootstrap: str, admin: Admin, directory: Path, mended: Path) -> None:
        self._topic = topic
        name = f"app-{uuid.uuid4().hex[:8]}"
        self._program = program_of(
            _careful_count(topic, out, mended),
            {topic: 1, out: 1},
            directory,
            application_id=name,
            bootstrap_servers=bootstrap,
        )
        admin.ensure_topic(NewTopic(self._program.progress_topic, 1))
        self._data = shipped(self._program)
        self._group = make_consumer(self._program.config)  # of nobody: the group has no members
        self.path = drivers_directory("run")
        (self.path / PROGRAM).write_bytes(self._data)

    def run(self, batch: int, start: int, end: int, *, attempt: int = 0) -> dict[str, Any]:
        """Have the lane run a batch; answers what it tells."""
        request = {
            "batch": batch,
            "wave": 0,
            "now": 5_000,
            "attempt": attempt,
            "ranges": [[self._topic, 0, start, end]],
            "globals": [],
            "parcels": [],
            "guaranteed": [],
            "content": f"content-{batch}",
            "membership": self._group.consumer_group_metadata(),
        }
        rows = lane_client.call("run", 0, os.getpid(), self._data, request)
        (statistics,) = [unpack(parcel).statistics for _, wave, parcel in rows if wave == -1]
        return statistics

    def error(self, batch: int, start: int, end: int, *, attempt: int = 0) -> MillstreamError:
        """The error that a user sees."""
        with pytest.raises(StreamsError) as caught:
            self.run(batch, start, end, attempt=attempt)
        return of_spark(caught.value.primary)

    @property
    def process(self) -> int:
        """That of the lane."""
        label = label_of(self._data)
        with lane_client._connected(self.path / "lane-0", 0, os.getpid(), label, "nothing") as connection:
            found = peer(connection)
        assert found is not None
        return found[0]

    def close(self) -> None:
        """Lanes see that the program is gone, and end."""
        self._group.close()
        (self.path / PROGRAM).unlink(missing_ok=True)
        wait_until(lambda: not self.path.exists(), "the end of the lane", 60)


def _careful_count(topic: str, out: str, mended: Path) -> Any:
    def careful(key: str, value: str) -> bool:
        if value == "bad" and not mended.exists():
            raise ValueError("not yet")
        return True

    builder = StreamsBuilder()
    (
        builder.stream(topic)
        .filter(careful)
        .group_by_key(Grouped(Serdes.string, Serdes.string))
        .count(materialized=Materialized("counts"))
        .to_stream()
        .to(out, Produced(Serdes.string, Serdes.long))
    )
    return builder.build()


@pytest.mark.usefixtures("short_tempdir")
def test_a_lane_counts_on_whatever_happens_to_its_process(
    broker: DetachedBroker,
    admin: Admin,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    topic, out, mended = make_topic(1), make_topic(1), tmp_path / "mended"
    app = Application(topic, out, broker.bootstrap_servers, admin, tmp_path, mended)

    def counts() -> list[int]:
        return [int.from_bytes(message.value() or b"", "big") for message in consume(out)]

    try:
        produce(topic, [("a", value) for value in ("x", "x", "x", "x", "bad", "x")])
        told = app.run(0, 0, 2)
        assert (told["read"], told["written"], counts()) == (2, 2, [1, 2])
        first = app.process
        assert app.run(1, 2, 3)["written"] == 1
        assert app.process == first  # it lives on between requests

        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not alive(first), "the end of the process", 60)
        assert app.run(1, 2, 3, attempt=1)["written"] == 0  # that is out
        assert app.run(2, 3, 4)["written"] == 1
        assert counts() == [1, 2, 3, 4]
        second = app.process
        assert second != first

        error = app.error(3, 4, 6)
        assert isinstance(error, ProcessingError)
        assert "careful at test_process.py" in str(error)
        assert "not yet" in str(error)
        mended.touch()
        assert str(app.error(3, 4, 6, attempt=1)) == str(error)  # the same query does not try again
        assert app.run(3, 4, 6)["written"] == 2
        assert counts() == [1, 2, 3, 4, 5, 6]
        assert app.process == second  # an error does not end the process
    finally:
        app.close()
    wait_until(lambda: not alive(second), "the end of the process", 60)
