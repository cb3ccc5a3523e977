"""Checkpoints that are lost or go back while Kafka does not: rows 5 and 6 of issue 10's table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.spark.conftest import Apps, apps, counting, counts

from millstream import StateStoreError, StreamsConfig, StreamsError, Topology
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker

__all__ = ["apps", "counting", "counts"]  # fixtures

Produce = Callable[..., None]
Counts = Callable[..., dict[str, list[int]]]


@pytest.fixture
def topics(make_topic: Callable[..., str]) -> tuple[str, str]:
    return make_topic(2, name="in"), make_topic(2, name="out")


def some(count: int) -> list[tuple[str, str]]:
    return [(f"k{number % 5}", "v") for number in range(count)]


def checkpoint_of(config: StreamsConfig) -> Path:
    assert config.checkpoint_location is not None
    return Path(config.checkpoint_location)


def test_an_older_copy_of_the_checkpoint_is_refused(
    apps: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    tmp_path: Path,
) -> None:
    config = apps.config()
    checkpoint, backup = checkpoint_of(config), tmp_path / "backup"
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), config)
    shutil.copytree(checkpoint, backup)
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), config)
    newest = tmp_path / "newest"
    shutil.move(checkpoint, newest)
    shutil.copytree(backup, checkpoint)
    produce(topics[0], some(50))
    with pytest.raises(StreamsError, match="gone back") as raised:
        apps.run_once(counting(*topics), config)
    assert "millstream reset" in str(raised.value)
    shutil.rmtree(checkpoint)
    shutil.move(newest, checkpoint)
    apps.run_once(counting(*topics), config)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 31)) for key in range(5)}


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_a_lost_checkpoint_is_rebuilt_from_kafka(
    apps: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    guarantee: str,
) -> None:
    config = apps.config(processing_guarantee=guarantee)
    elsewhere = replace(config, checkpoint_location=checkpoint_of(config).with_name(f"{config.application_id}-other"))
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), config)
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), elsewhere)  # a checkpoint that is not where it was is as lost
    shutil.rmtree(checkpoint_of(elsewhere))
    checkpoint_of(elsewhere).mkdir()
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), elsewhere)
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), elsewhere)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 41)) for key in range(5)}
    with pytest.raises(StreamsError, match="belong to another checkpoint"):
        apps.run_once(counting(*topics), config)  # the one that was lost comes back


def test_a_lost_checkpoint_and_lost_changelogs_are_refused(
    apps: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    broker: DevBroker,
) -> None:
    config = apps.config()
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), config)
    shutil.rmtree(checkpoint_of(config))
    with closing(Admin(StreamsConfig(application_id="look", bootstrap_servers=broker.bootstrap_servers))) as admin:
        admin.delete_topics([f"{config.application_id}-counts-changelog"])
    for _ in range(2):  # a start that is refused makes nothing that the next one would believe
        with pytest.raises(StreamsError, match="its checkpoint is not here") as raised:
            apps.run_once(counting(*topics), config)
        assert str(checkpoint_of(config)) in str(raised.value)
        assert "-changelog are missing" in str(raised.value)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 11)) for key in range(5)}


def test_a_changelog_that_was_made_again_is_not_believed(
    apps: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    broker: DevBroker,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The checkpoint has the state, so the application goes on; then it is lost, too."""
    config = apps.config()
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), config)
    with closing(Admin(StreamsConfig(application_id="look", bootstrap_servers=broker.bootstrap_servers))) as admin:
        admin.delete_topics([f"{config.application_id}-counts-changelog"])
    produce(topics[0], some(50))
    apps.run_once(counting(*topics), config)
    assert "the changelog of store 'counts' was made when the store had something in it" in caplog.text
    shutil.rmtree(checkpoint_of(config))
    with pytest.raises(StreamsError, match="its checkpoint is not here") as raised:
        apps.run_once(counting(*topics), config)
    assert "does not have all of store 'counts'" in str(raised.value)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 21)) for key in range(5)}


def test_the_newest_state_file_of_a_task_is_missed(
    apps: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
) -> None:
    config = apps.config()
    for _ in range(3):
        produce(topics[0], some(50))
        apps.run_once(counting(*topics), config)
    newest = sorted((checkpoint_of(config) / "millstream" / "state").glob("*/*.changes"), key=lambda path: path.name)[
        -1
    ]
    newest.unlink()
    produce(topics[0], some(50))
    with pytest.raises(StateStoreError, match="missing") as raised:
        apps.run_once(counting(*topics), config)
    assert newest.stem in str(raised.value)
    found = counts(topics[1])  # the other task did its part
    assert all(values == list(range(1, len(values) + 1)) for values in found.values())
    assert sum(map(len, found.values())) < 200
