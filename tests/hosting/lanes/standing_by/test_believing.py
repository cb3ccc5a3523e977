"""What is not as it should be is thrown away, and the whole changelog is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from millstream.errors import StateStoreError
from millstream.hosting.lanes import hosted_task
from millstream.hosting.lanes.standing_by.places import Place, remove_unused
from millstream.hosting.lanes.standing_by.standby import Warm, believed

from ..conftest import LaneService, until
from ..test_lane import counting, counts, some
from .test_standby import PARTITION, query_of


class Offsets:
    """An admin client that knows where a changelog begins."""

    def __init__(self, begin: int) -> None:
        self._begin = begin

    def begin_offsets(self, partitions: Any) -> dict[Any, int]:
        return dict.fromkeys(partitions, self._begin)


def warm_at(position: int, path: Path, topic_id: str = "id-1") -> Warm:
    query = query_of("key-value", None)
    return Warm(Place(query.config, "0_0", path), {PARTITION: position}, {"s": topic_id}, {})


@pytest.mark.parametrize(("position", "begin", "end"), [(0, 5, 9), (5, 5, 9), (9, 0, 9), (7, 0, 9)])
def test_a_standby_within_its_changelog_is_believed(tmp_path: Path, position: int, begin: int, end: int) -> None:
    admin: Any = Offsets(begin)
    found = believed(warm_at(position, tmp_path), query_of("key-value", None), admin, {PARTITION: end})
    assert found == {PARTITION: position}


@pytest.mark.parametrize(
    ("position", "begin", "end", "topic_id", "why"),
    [
        (4, 5, 9, "id-1", "lost records"),
        (10, 0, 9, "id-1", "lost records"),
        (4, 0, 9, "id-2", "made again"),
    ],
)
def test_others_are_not(tmp_path: Path, position: int, begin: int, end: int, topic_id: str, why: str) -> None:
    admin: Any = Offsets(begin)
    with pytest.raises(StateStoreError, match=why):
        believed(warm_at(position, tmp_path, topic_id), query_of("key-value", None), admin, {PARTITION: end})


def test_files_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    config = query_of("key-value", tmp_path).config
    used, unused = (Place(config, name, tmp_path / "own") for name in ("0_0", "0_1"))
    for place in (used, unused):
        place.path.mkdir()
        place.files.write_checkpoint({})
    unused.release(keep=True)
    remove_unused(config, 60)
    assert unused.path.exists()
    remove_unused(config, -1)
    assert used.path.exists()
    assert not unused.path.exists()
    used.release(keep=False)


@pytest.mark.parametrize("stores", ["rocksdb", "in_memory"])
def test_a_task_is_made_of_its_changelog_if_its_standby_cannot_be_used(
    lanes: LaneService,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    monkeypatch: pytest.MonkeyPatch,
    stores: Any,
) -> None:
    refused = []

    def refuse(warm: Warm, *_: Any) -> None:
        refused.append(warm.path)
        raise StateStoreError("it is not to be believed")

    monkeypatch.setattr(hosted_task, "believed", refuse)
    lanes.config = replace(lanes.config, num_standby_replicas=1, dsl_store=stores)
    source, out = make_topic(4, name="in"), make_topic(1, name="out")
    lanes.run("q", counting(source, out))
    first, second = lanes.start(), lanes.start()
    produce(source, some(100))
    consume(out, 100)

    def standbys() -> int:
        return sum(len(figures.standbys) for lane in (first, second) if (figures := lane.figures("q")) is not None)

    until(lambda: standbys() == 4)
    first.close()
    produce(source, some(100))
    assert counts(consume(out, 200)) == {f"k{n}": list(range(1, 41)) for n in range(5)}
    assert refused
    assert not any(path.exists() for path in refused)
