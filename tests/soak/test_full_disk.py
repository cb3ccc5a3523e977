"""A disk without room for the state."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest
from confluent_kafka import Message
from tests.spark.conftest import PATIENCE, Apps

from millstream import Consumed, MillstreamError, Produced, Serdes, StreamsBuilder
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.usefixtures("no_lane_is_left")

KEYS = [f"k{number}" for number in range(10)]

Make = Callable[..., str]
Produce = Callable[..., None]
Consume = Callable[..., list[Message]]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB, where one may be made."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() != 0 or mount is None or umount is None:
        pytest.skip("only root can mount a small file system")
    command = [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:  # noqa: S603 - as it says
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run([umount, "-l", str(place)], check=True)  # noqa: S603


@pytest.mark.parametrize("left_kb", [0, 48])
def test_a_full_disk_is_an_error_and_nothing_is_lost(
    batches: Apps,
    make_topic: Make,
    produce: Produce,
    consume: Consume,
    small_disk: Path,
    left_kb: int,
) -> None:
    topic, out = make_topic(2), make_topic(2)
    builder = StreamsBuilder()
    texts = Consumed(Serdes.string, Serdes.string)
    (
        builder.stream(topic, texts)
        .group_by_key()
        .reduce(lambda whole, new: new)
        .to_stream()
        .map_values(lambda value: value[:3])
        .to(out, Produced(Serdes.string, Serdes.string))
    )
    topology = builder.build()
    config = batches.config(checkpoint_location=small_disk / "checkpoint")
    produce(topic, [(key, "one") for key in KEYS])
    batches.run_once(topology, config)

    streams = KafkaStreams(topology, config)
    streams.start()
    free = shutil.disk_usage(small_disk).free - left_kb * 1024
    (small_disk / "other").write_bytes(bytes(free))
    produce(topic, [(key, "two" + "." * 20_000) for key in KEYS])
    with pytest.raises(MillstreamError, match="No space left on device") as raised:
        streams.wait(PATIENCE)
    assert streams.state is State.ERROR
    assert raised.value.hint

    (small_disk / "other").unlink()
    produce(topic, [(key, "three") for key in KEYS])
    batches.run_once(topology, config)
    found: dict[bytes, list[bytes]] = {}
    for message in consume(out):
        found.setdefault(message.key() or b"", []).append(message.value() or b"")
    assert found == {key.encode(): [b"one", b"two", b"thr"] for key in KEYS}
