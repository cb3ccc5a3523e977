"""What `millstream reset` is going to do: found out first, shown, then done."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from millstream.config import StreamsConfig
from millstream.kafka.admin import Partition
from millstream.kafka.errors import TopicMissing
from millstream.kafka.group_admin import GroupAdmin
from millstream.spark.state.checkpoint import Checkpoint, checkpoint_location
from millstream.spark.state.storage import filesystem
from millstream.topology.nodes import SourceNode
from millstream.topology.topology import Topology

#: Gives the new positions, told the partitions and the positions there are now.
Target = Callable[[GroupAdmin, Collection[Partition], dict[Partition, int]], dict[Partition, int]]

_INTERNAL = re.compile(
    r".+-changelog|.+-repartition|.+-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-\d+-topic|progress|owner|slots|views"
)
_TASK = re.compile(r"\d+_\d+")


@dataclass(frozen=True)
class ResetPlan:
    """What is changed.

    Args:
        application_id: whose.
        before: the positions of input and intermediate topics now.
        offsets: the positions they get.
        topics: internal topics that are deleted.
        groups: groups of progress markers, in an older form, that are deleted.
        checkpoint: where a checkpoint of this application is removed; None if there is none.
        foreign: why a checkpoint that was found is left alone, if it is.
        directories: local files of stores that are removed.
    """

    application_id: str
    before: dict[Partition, int]
    offsets: dict[Partition, int]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    checkpoint: str | None
    foreign: str | None
    directories: tuple[Path, ...]


def make_plan(
    admin: GroupAdmin,
    config: StreamsConfig,
    target: Target,
    inputs: Collection[str],
    intermediate: Collection[str] = (),
    internal: Collection[str] | None = None,
) -> ResetPlan:
    """Look at what there is.

    Args:
        admin: reaches the brokers.
        config: the application's.
        target: where input topics are to be read from.
        inputs: the input topics; those that do not exist are an error.
        intermediate: topics that the application itself fills, which are not to be read again.
        internal: internal topics to delete; None: all there are.
    """
    application = config.application_id
    counts = admin.require_topics([*inputs, *intermediate])
    before = admin.positions(application)
    offsets = target(admin, _partitions(inputs, counts), before)
    offsets |= admin.end_offsets(_partitions(intermediate, counts))
    there = internal_topics(admin, application)
    if internal is not None and (strange := sorted(set(internal) - set(there))):
        raise TopicMissing(
            f"no internal topics of {application}: {', '.join(strange)}",
            detail=f"it has {', '.join(there) or 'none'}",
        )
    checkpoint, foreign = _checkpoint(config)
    return ResetPlan(
        application,
        {at: offset for at, offset in before.items() if at in offsets},
        offsets,
        tuple(there if internal is None else sorted(internal)),
        tuple(name for name in admin.groups() if name.startswith(f"{application}-progress-")),
        checkpoint,
        foreign,
        tuple(_local_state(config)),
    )


def carry_out(plan: ResetPlan, admin: GroupAdmin, config: StreamsConfig) -> None:
    """Do it. Positions go with their group, then those that are wanted are set: nothing else of it is left."""
    admin.delete_groups([plan.application_id, *plan.groups])
    admin.commit_offsets(plan.offsets, plan.application_id)
    admin.delete_topics(plan.topics)
    if plan.checkpoint is not None:
        found, path = filesystem(plan.checkpoint, config.spark)
        for part in ("spark", "millstream"):  # whatever else is there is not ours
            if found.get_file_info(f"{path}/{part}").type == fs.FileType.Directory:
                found.delete_dir(f"{path}/{part}")
    for directory in plan.directories:
        shutil.rmtree(directory)


def source_topics(topology: Topology, known: Iterable[str]) -> list[str]:
    """The topics that a topology reads from outside, by name or by pattern; for global tables nothing is reset."""
    of_globals = {store.source for store in topology.global_stores.values()}
    found: dict[str, None] = {}
    for node in topology.nodes.values():
        if isinstance(node, SourceNode) and node.name not in of_globals:
            names = node.topics if node.pattern is None else filter(node.pattern.fullmatch, known)
            found.update(dict.fromkeys(name for name in names if name not in topology.internal_topics))
    return list(found)


def internal_topics(admin: GroupAdmin, application: str) -> list[str]:
    """The internal topics of an application that are there; not those of `orders-eu` for `orders`."""
    own = f"{application}-views"  # the group of its views
    others = tuple(f"{name}-" for name in admin.groups() if name.startswith(f"{application}-") and name != own)
    prefix = f"{application}-"
    return [
        name
        for name in admin.topics()
        if name.startswith(prefix) and not name.startswith(others) and _INTERNAL.fullmatch(name.removeprefix(prefix))
    ]


def _partitions(topics: Iterable[str], counts: dict[str, int]) -> list[Partition]:
    return [(topic, number) for topic in topics for number in range(counts[topic])]


def _checkpoint(config: StreamsConfig) -> tuple[str | None, str | None]:
    """Where the application's checkpoint is, or why what is there is not removed."""
    location = checkpoint_location(config)
    noted = Checkpoint(location, config.spark).read("application.json")
    if noted is None:
        return None, None
    owner = noted.get("application_id")
    if owner != config.application_id:
        return None, f"{location} is the checkpoint of '{owner}'"
    return location, None


def _local_state(config: StreamsConfig) -> list[Path]:
    base = Path(config.state_dir) if config.state_dir is not None else Path(tempfile.gettempdir()) / "millstream"
    home = base / config.application_id
    return sorted(path for path in home.glob("*") if path.is_dir() and _TASK.fullmatch(path.name))
