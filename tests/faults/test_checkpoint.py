"""Checkpoints that are lost, damaged or go back while Kafka does not: rows 5 and 6 of issue 10's table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.spark.conftest import Apps, batches, counting, counts

from millstream import (
    CheckpointDamaged,
    Consumed,
    Grouped,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    StreamsError,
    Topology,
)
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker

__all__ = ["batches", "counting", "counts"]  # fixtures

TEXTS = Consumed(Serdes.string, Serdes.string)
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


def newest_file(config: StreamsConfig) -> Path:
    """The state file that was written last."""
    files = (checkpoint_of(config) / "millstream" / "state").glob("*/*")
    return sorted(files, key=lambda path: path.name)[-1]


def set_aside(config: StreamsConfig) -> list[Path]:
    checkpoint = checkpoint_of(config)
    return sorted(checkpoint.parent.glob(f"{checkpoint.name}.damaged-*"))


def test_a_damaged_checkpoint_is_set_aside_and_rebuilt_from_kafka(
    batches: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = batches.config()
    checkpoint, backup = checkpoint_of(config), tmp_path / "backup"

    def run() -> None:
        produce(topics[0], some(50))
        batches.run_once(counting(*topics), config)

    def an_older_copy() -> None:
        shutil.rmtree(checkpoint)
        shutil.copytree(backup, checkpoint)

    def a_missing_state_file() -> None:
        newest_file(config).unlink()

    def what_it_remembers() -> None:
        (checkpoint / "millstream" / "application.json").write_text('{"format": 2, ')

    def an_entry_of_sparks_log() -> None:
        entries = [path for path in (checkpoint / "spark" / "offsets").iterdir() if path.name.isdigit()]
        max(entries, key=lambda path: int(path.name)).write_text("v1\n{}")

    run()
    shutil.copytree(checkpoint, backup)
    run()
    damages = (
        an_older_copy,
        a_missing_state_file,
        what_it_remembers,
        an_entry_of_sparks_log,
    )
    for number, damage in enumerate(damages, 1):
        damage()
        caplog.clear()
        run()
        assert f"{set_aside(config)[-1]} and rebuilt from Kafka" in caplog.text
        assert len(set_aside(config)) == number
    runs = 2 + len(damages)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 10 * runs + 1)) for key in range(5)}


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_a_lost_checkpoint_is_rebuilt_from_kafka(
    batches: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    guarantee: str,
) -> None:
    config = batches.config(processing_guarantee=guarantee)
    elsewhere = replace(config, checkpoint_location=checkpoint_of(config).with_name(f"{config.application_id}-other"))
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), config)
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), elsewhere)  # a checkpoint that is not where it was is as lost
    shutil.rmtree(checkpoint_of(elsewhere))
    checkpoint_of(elsewhere).mkdir()
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), elsewhere)
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), elsewhere)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 41)) for key in range(5)}
    with pytest.raises(StreamsError, match="belong to another checkpoint"):
        batches.run_once(counting(*topics), config)  # the one that was lost comes back


def test_markers_with_other_numbers_are_no_matter(
    batches: Apps, make_topic: Callable[..., str], produce: Produce, counts: Counts
) -> None:
    """Tasks that came later have later markers; in a new checkpoint all are numbered anew, and some are gone."""
    first, second, out = make_topic(1, name="first"), make_topic(1, name="second"), make_topic(1, name="out")
    config = batches.config()

    def topology(*, more: bool) -> Topology:
        builder = StreamsBuilder()
        grouped = builder.stream(second, TEXTS).group_by_key(Grouped(Serdes.string, Serdes.string))
        counted = grouped.count(materialized=Materialized("counts", dsl_store="in_memory"))
        counted.to_stream().to(out, Produced(Serdes.string, Serdes.long))
        if more:
            builder.stream(first, TEXTS).foreach(lambda key, value: None)
        return builder.build()

    for more in (True, False, False):
        produce(second, some(50))
        if not more:
            shutil.rmtree(checkpoint_of(config))
        batches.run_once(topology(more=more), config)
        produce(second, some(50))
        batches.run_once(topology(more=more), config)
    assert counts(out) == {f"k{key}": list(range(1, 61)) for key in range(5)}


def test_a_lost_checkpoint_and_lost_changelogs_are_refused(
    batches: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    broker: DevBroker,
) -> None:
    config = batches.config()
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), config)
    shutil.rmtree(checkpoint_of(config))
    with closing(Admin(StreamsConfig(application_id="look", bootstrap_servers=broker.bootstrap_servers))) as admin:
        admin.delete_topics([f"{config.application_id}-counts-changelog"])
    for _ in range(2):  # a start that is refused makes nothing that the next one would believe
        with pytest.raises(StreamsError, match="its checkpoint is not here") as raised:
            batches.run_once(counting(*topics), config)
        assert str(checkpoint_of(config)) in str(raised.value)
        assert "-changelog are missing" in str(raised.value)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 11)) for key in range(5)}


def test_a_changelog_that_was_made_again_is_not_believed(
    batches: Apps,
    counting: Callable[..., Topology],
    topics: tuple[str, str],
    produce: Produce,
    counts: Counts,
    broker: DevBroker,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The checkpoint has the state, so the application goes on; then it is lost, too."""
    config = batches.config()
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), config)
    with closing(Admin(StreamsConfig(application_id="look", bootstrap_servers=broker.bootstrap_servers))) as admin:
        admin.delete_topics([f"{config.application_id}-counts-changelog"])
    produce(topics[0], some(50))
    batches.run_once(counting(*topics), config)
    assert "the changelog of store 'counts' was made when the store had something in it" in caplog.text
    (checkpoint_of(config) / "millstream" / "application.json").write_text("{")
    with pytest.raises(CheckpointDamaged, match="damaged") as damaged:
        batches.run_once(counting(*topics), config)
    assert "cannot be rebuilt from Kafka" in str(damaged.value)
    assert (checkpoint_of(config) / "spark").exists()
    assert set_aside(config) == []
    shutil.rmtree(checkpoint_of(config))
    with pytest.raises(StreamsError, match="its checkpoint is not here") as raised:
        batches.run_once(counting(*topics), config)
    assert "does not have all of store 'counts'" in str(raised.value)
    assert counts(topics[1]) == {f"k{key}": list(range(1, 21)) for key in range(5)}
