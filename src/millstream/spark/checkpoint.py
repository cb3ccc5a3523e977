"""What a checkpoint remembers of its application, and what may change."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.spark.plan import Plan
from millstream.spark.statefiles import filesystem
from millstream.topology.topology import Topology

_NAME = "millstream/application.json"
_FORMAT = 1


@dataclass(frozen=True)
class Remembered:
    """What an earlier run left."""

    lanes: int


class Checkpoint:
    """The part of a checkpoint location that is Millstream's."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._file_system, self._path = filesystem(location)

    def open(self, application_id: str, topology: Topology, plan: Plan, lanes: int) -> Remembered:
        """Compare with what the checkpoint remembers, then remember this run.

        Raises:
            StreamsError: it belongs to another application, or to a topology that cannot go on from it.
        """
        before = self._read()
        now = {
            "format": _FORMAT,
            "application_id": application_id,
            "tasks": {str(part.id): part.partitions for part in plan.parts.values()},
            "stores": _stores(topology, plan),
            "topics": sorted({topic for part in plan.parts.values() for topic in part.topics}),
            "lanes": lanes,
            "describe": str(topology.describe()),
        }
        if before is not None:
            self._check(before, now)
            now["lanes"] = max(lanes, before["lanes"])
        self._write(now)
        return Remembered(lanes if before is None else before["lanes"])

    def _check(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        if before["application_id"] != now["application_id"]:
            raise StreamsError(
                "this checkpoint belongs to another application",
                detail=f"{self.location} is that of '{before['application_id']}', this is '{now['application_id']}'",
                hint="give every application its own checkpoint_location",
            )
        problems = []
        for store, task in before["stores"].items():
            if store in now["stores"] and now["stores"][store] != task:
                problems.append(f"store '{store}' moved from sub-topology {task} to {now['stores'][store]}")
            elif store not in now["stores"]:
                problems.append(f"store '{store}' is gone")
        for part, count in before["tasks"].items():
            if now["tasks"].get(part, count) != count:
                problems.append(f"sub-topology {part} had {count} partitions and has {now['tasks'][part]}")
        if problems:
            raise StreamsError(
                "the topology has changed in a way that its state cannot follow",
                detail="; ".join(problems),
                hint="name stores and repartitions so that they keep their places (Materialized, Grouped), undo the "
                "change, or start anew with another checkpoint_location",
            )

    def _read(self) -> dict[str, Any] | None:
        path = f"{self._path}/{_NAME}"
        if self._file_system.get_file_info(path).type == fs.FileType.NotFound:
            return None
        with self._file_system.open_input_stream(path) as stream:
            found: dict[str, Any] = json.loads(stream.read())
            return found

    def _write(self, content: dict[str, Any]) -> None:
        path = f"{self._path}/{_NAME}"
        self._file_system.create_dir(path.rsplit("/", 1)[0], recursive=True)
        with self._file_system.open_output_stream(f"{path}.tmp") as stream:
            stream.write(json.dumps(content, indent=2).encode())
        self._file_system.move(f"{path}.tmp", path)


def _stores(topology: Topology, plan: Plan) -> dict[str, int]:
    found = {}
    for part in plan.parts.values():
        for name in part.nodes:
            for store in getattr(topology.nodes[name], "stores", ()):
                found[store] = part.id
    return found


def checkpoint_location(config: StreamsConfig) -> str:
    """Where an application keeps what a restart needs: as configured, else below the state directory."""
    if config.checkpoint_location is not None:
        return str(config.checkpoint_location)
    base = Path(config.state_dir) if config.state_dir is not None else Path(tempfile.gettempdir()) / "millstream"
    return str(base / config.application_id / "checkpoint")


def run_name(application_id: str, unique: str) -> str:
    """A short name for a run that can be part of a socket's path."""
    return hashlib.sha256(f"{application_id}/{unique}".encode()).hexdigest()[:16]
