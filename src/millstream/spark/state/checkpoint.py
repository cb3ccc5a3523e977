"""What a checkpoint remembers of its application, and what may change."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyarrow import fs

from millstream.config import Setting, StreamsConfig
from millstream.directories import state_directory
from millstream.errors import CheckpointDamaged, StreamsError
from millstream.hosting.following import Shape, what_cannot_follow
from millstream.spark.plan import Plan, TaskId
from millstream.spark.state.markers import BATCH
from millstream.spark.state.stateformat import HINT
from millstream.spark.state.storage import filesystem, make_directory, write_whole
from millstream.state import StoreBuilder
from millstream.topology.topology import Topology

#: What makes a checkpoint of a directory.
NOTE = "application.json"
#: Raised with every change that an older version cannot read, or whose older form this version cannot.
_FORMAT = 3
#: Formats that this version goes on with. 2 had no merged state files.
_READ = (2, _FORMAT)


@dataclass(frozen=True)
class Remembered:
    """What an earlier run left."""

    #: Whether there was no earlier run.
    is_new: bool
    lanes: int
    #: Whether tasks may have had other lanes.
    moved: bool
    #: Of the checkpoint: what was noted elsewhere for another one does not count for this one.
    id: str
    #: The partition of the progress topic for each task and wave.
    markers: dict[str, int]
    #: What is to be remembered of this run.
    note: dict[str, Any]
    #: The stores that were there before.
    stores: frozenset[str] = frozenset()
    #: The ids of changelog topics that had all changes of their stores.
    changelogs: Mapping[str, str] = field(default_factory=dict)

    def whole(self, ids: Mapping[str, str]) -> dict[str, str]:
        """Which changelogs have all changes of their stores: those that were there when the store came to be.

        Args:
            ids: of the changelog topics, by store.
        """
        return {
            store: found
            for store, found in ids.items()
            if self.is_new or store not in self.stores or self.changelogs.get(store) == found
        }


class Checkpoint:
    """The part of a checkpoint location that is Millstream's.

    Args:
        location: where it is.
        spark: properties of Spark, which have the settings of stores such as S3.
    """

    def __init__(self, location: str, spark: Mapping[str, Setting] | None = None) -> None:
        self.location = location
        self._file_system, self._path = filesystem(location, spark)
        self._path += "/millstream"

    def known_id(self) -> str | None:
        """The checkpoint's id; None if there is no checkpoint yet.

        Raises:
            StreamsError: it was made by a version of Millstream whose checkpoints this one cannot read.
        """
        before = self._before()
        return None if before is None else str(before["id"])

    def compare(
        self, application_id: str, topology: Topology, plan: Plan, lanes: int, checkpoint_id: str
    ) -> Remembered:
        """Compare with what the checkpoint remembers.

        Args:
            application_id: whose checkpoint it is to be.
            topology: what runs.
            plan: its tasks.
            lanes: how many lanes share them.
            checkpoint_id: the id of a checkpoint that is new.

        Raises:
            StreamsError: it belongs to another application, or to a topology that cannot go on from it.
        """
        before = self._before()
        now: dict[str, Any] = {
            "format": _FORMAT,
            "application_id": application_id,
            "tasks": {str(part.id): part.partitions for part in plan.parts.values()},
            "stores": _stores(topology, plan),
            "kinds": _kinds(topology),
            "topics": sorted({topic for part in plan.parts.values() for topic in part.topics}),
            "lanes": lanes,
            "id": checkpoint_id,
            "markers": _markers(plan, {}),
            "describe": str(topology.describe()),
        }
        if before is not None:
            self._check(before, now)
            now["lanes"] = max(lanes, before["lanes"])
            now["id"] = before["id"]
            now["markers"] = _markers(plan, before["markers"])
        moved = before is not None and (before["lanes"], before["tasks"]) != (lanes, now["tasks"])
        if before is None:
            return Remembered(True, lanes, moved, now["id"], now["markers"], now)
        stores, changelogs = frozenset(before["stores"]), before.get("changelogs", {})
        return Remembered(False, before["lanes"], moved, now["id"], now["markers"], now, stores, changelogs)

    def remember(self, run: Remembered, changelogs: Mapping[str, str]) -> None:
        """Have the next start compare with this run.

        Args:
            run: what it is.
            changelogs: see `Remembered.whole`.
        """
        self.write(NOTE, {**run.note, "changelogs": dict(changelogs)})

    def _before(self) -> dict[str, Any] | None:
        before = self.read(NOTE)
        if before is not None and before.get("format") not in _READ:
            newer = isinstance(before.get("format"), int) and before["format"] > _FORMAT
            known = " and ".join(map(str, _READ))
            raise StreamsError(
                f"the checkpoint has the format of {'a newer' if newer else 'an older'} Millstream",
                detail=f"{self.location} has format {before.get('format')}, this version reads format {known}",
                hint="run it with the version it was made with"
                + ("" if newer else ", or begin anew on purpose: millstream reset"),
            )
        return before

    def _check(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        if before["application_id"] != now["application_id"]:
            raise StreamsError(
                "this checkpoint belongs to another application",
                detail=f"{self.location} is that of '{before['application_id']}', this is '{now['application_id']}'",
                hint="give every application its own checkpoint_location",
            )
        shapes = [Shape(one["tasks"], one["stores"], one.get("kinds", {})) for one in (before, now)]
        problems = what_cannot_follow(*shapes)
        if problems:
            raise StreamsError(
                "the topology has changed in a way that its state cannot follow",
                detail="; ".join(problems),
                hint="name stores and repartitions so that they keep their places (Materialized, Grouped), undo the "
                "change (for more partitions: write to a new topic that has them), or start anew with another "
                "checkpoint_location",
            )

    def read(self, name: str) -> dict[str, Any] | None:
        """A note that was written before; None if there is none."""
        path = f"{self._path}/{name}"
        try:
            if self._file_system.get_file_info(path).type == fs.FileType.NotFound:
                return None
            with self._file_system.open_input_stream(path) as stream:
                found: dict[str, Any] = json.loads(stream.read())
                return found
        except OSError as error:
            raise StreamsError("the checkpoint cannot be read", detail=f"{path}: {error}") from error
        except ValueError as error:
            raise CheckpointDamaged("the checkpoint is damaged", detail=f"{path}: {error}", hint=HINT) from error

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Write a note, as a whole or not at all."""
        path = f"{self._path}/{name}"
        try:
            make_directory(self._file_system, self._path)
            write_whole(self._file_system, path, lambda stream: stream.write(json.dumps(content, indent=2).encode()))
        except OSError as error:
            raise StreamsError(
                "the checkpoint cannot be written",
                detail=f"{path}: {error}",
                hint="checkpoint_location must be a directory that can be written, with room in it",
            ) from error

    def remove(self, name: str) -> None:
        """Forget a note."""
        with contextlib.suppress(OSError):
            self._file_system.delete_file(f"{self._path}/{name}")


def _stores(topology: Topology, plan: Plan) -> dict[str, int]:
    found = {}
    for part in plan.parts.values():
        for name in part.nodes:
            for store in getattr(topology.nodes[name], "stores", ()):
                found[store] = part.id
    return found


def _kinds(topology: Topology) -> dict[str, str]:
    """What the rows of stores are, where that is known: rows of one kind mean nothing to another."""
    return {name: store.kind.value for name, store in topology.stores.items() if isinstance(store, StoreBuilder)}


def _markers(plan: Plan, before: dict[str, int]) -> dict[str, int]:
    """A number for each task and wave: the one it had before, else a new one."""
    markers = dict(before)
    for task_id in plan.tasks:
        for wave in sorted(set(plan.parts[task_id.sub_topology].topics.values())):
            markers.setdefault(marker_name(task_id, wave), len(markers))
    markers.setdefault(BATCH, len(markers))
    return markers


def marker_name(task_id: TaskId, wave: int) -> str:
    """What a task's outputs of a wave are called among the markers."""
    return f"{task_id.name}/{wave}"


def checkpoint_location(config: StreamsConfig) -> str:
    """Where an application keeps what a restart needs: as configured, else below `state_dir` or the user's directory.

    Never in a temporary directory: what is lost with the next boot is no checkpoint.
    """
    if config.checkpoint_location is not None:
        return str(config.checkpoint_location)
    base = Path(config.state_dir) if config.state_dir is not None else state_directory() / "applications"
    return str(base / config.application_id / "checkpoint")


def run_name(application_id: str, unique: str) -> str:
    """A short name for a run that can be part of a socket's path."""
    return hashlib.sha256(f"{application_id}/{unique}".encode()).hexdigest()[:16]
