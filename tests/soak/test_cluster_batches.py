"""Batches on a cluster: lanes stay where they are, from batch to batch and from wave to wave."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Message
from tests.spark.cluster import can_hide, standalone

from millstream.kafka.detached import DetachedBroker

from . import steady_app

BATCHES, RECORDS, KEYS = 200, 50, 20


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_nothing_is_restored_over_many_batches_of_two_waves(
    broker: DetachedBroker,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    source, target = make_topic(4, name="words"), make_topic(4, name="counts")
    count = BATCHES * RECORDS
    produce(source, [(f"key{number % KEYS}", f"word{number % (KEYS + 1)}") for number in range(count)])
    arguments = [source, target, str(RECORDS)]
    with standalone() as cluster:
        command = [sys.executable, steady_app.__file__, broker.bootstrap_servers, cluster.master]
        command += [str(tmp_path / "checkpoint"), *arguments]
        ended, places = threading.Event(), defaultdict[str, set[str]](set)

        def look() -> None:
            while not ended.wait(0.2):
                for worker in cluster.workers:
                    for lane in worker.lanes():
                        places[lane].add(worker.address)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            done = subprocess.run(  # noqa: S603 - our own script
                command, capture_output=True, text=True, timeout=900, check=False
            )
        finally:
            ended.set()
            looking.join()
    assert done.returncode == 0, done.stderr[-3000:]
    metrics = json.loads(done.stdout.splitlines()[-1])
    assert metrics["commit-total"] >= BATCHES
    assert metrics["restored-records-total"] == 0
    assert {lane: len(addresses) for lane, addresses in places.items()} == {"lane-0": 1, "lane-1": 1}
    counts: dict[str, list[int]] = {}
    for message in consume(target, 2 * count):
        counts.setdefault((message.key() or b"").decode(), []).append(int.from_bytes(message.value() or b"", "big"))
    assert sum(map(len, counts.values())) == 2 * count
    assert all(found == list(range(1, len(found) + 1)) for found in counts.values())
