"""Checkpoint and local state are lost, Kafka is not: every result is there once, over all runs."""

from __future__ import annotations

import shutil
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from tests.spark import crash_app
from tests.spark.crashes import App, Feed, running, wait_until

from millstream.spark.state.checkpoint import Checkpoint
from millstream.spark.state.markers import BATCH, read_marker

RECORDS = 1_500


def lose_everything_local(app: App, directory: Path) -> None:
    wait_until(lambda: not app.processes(), "the end of all processes")
    for name in ("checkpoint", "state"):
        shutil.rmtree(directory / name)


def everything_is_done(bootstrap: str, directory: Path) -> bool:
    """Whether Kafka knows that the last batch was done."""
    noted = Checkpoint(str(directory / "checkpoint")).read("application.json")
    assert noted is not None
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": crash_app.APPLICATION, "log_level": 0})
    try:
        topic = f"{crash_app.APPLICATION}-progress"
        found = consumer.committed([TopicPartition(topic, at) for at in noted["markers"].values()], 30)
    finally:
        consumer.close()
    batches = {marker.task: marker.batch for at in found if (marker := read_marker(at)) is not None}
    return batches[BATCH] == max(batches.values())


def test_everything_local_is_lost_between_two_runs(tmp_path: Path) -> None:
    """Counts, windowed counts and a join across a re-key, after an orderly end and after kill -9."""
    with running(tmp_path, records=RECORDS, a_second=500, seed=7, master="local[2]", stores="rocksdb") as (
        broker, app, feed, results,
    ):  # fmt: skip
        results.wait_for(RECORDS // 3, app)
        assert app.stop() == 0, app.tail()
        lose_everything_local(app, tmp_path)
        app.start()
        feed.join()
        results.wait_for(RECORDS, app)
        wait_until(lambda: everything_is_done(broker.bootstrap_servers, tmp_path), "the end of the last batch")
        app.kill()
        lose_everything_local(app, tmp_path)
        more = Feed(broker.bootstrap_servers, RECORDS // 3, 500, 7, first=RECORDS)
        app.start()
        more.start()
        more.join()
        results.wait_for(RECORDS + more.records, app)
        assert app.stop() == 0, app.tail()
        results.read_to_end()
        results.check(feed, more)
