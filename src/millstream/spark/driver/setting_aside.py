"""A damaged checkpoint is set aside, so that the application can be rebuilt from Kafka; it is put back if it cannot."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyarrow import fs

from millstream.config import Setting
from millstream.spark.state.checkpoint import NOTE, Checkpoint
from millstream.spark.state.storage import filesystem, moves_files

log = logging.getLogger("millstream.client")


@dataclass(frozen=True)
class SetAside:
    """A checkpoint that is not where it was.

    Args:
        location: where it was.
        path: where it is.
        spark: properties of Spark, with the settings of stores.
    """

    location: str
    path: str
    spark: Mapping[str, Setting] | None = field(default=None, repr=False)

    @classmethod
    def move(cls, location: str, spark: Mapping[str, Setting] | None = None) -> SetAside | None:
        """Move a checkpoint to a name beside its own; None where that cannot be done."""
        now = datetime.now(UTC)
        path = f"{location.rstrip('/')}.damaged-{now:%Y%m%dT%H%M%S.%f}"
        try:
            _move(location, path, spark)
        except OSError as error:
            log.warning("the checkpoint cannot be set aside: %s", error)
            return None
        return cls(location, path, spark)

    def put_back(self) -> bool:
        """Have it where it was, unless another one has taken its place; whether it is there."""
        if Checkpoint(self.location, self.spark).known_id() is not None:
            return False
        file_system, root = filesystem(self.location, self.spark)
        if file_system.get_file_info(root).type == fs.FileType.Directory:
            file_system.delete_dir(root)
        _move(self.path, self.location, self.spark)
        return True


def _move(source: str, target: str, spark: Mapping[str, Setting] | None) -> None:
    file_system, path = filesystem(source, spark)
    _, goal = filesystem(target, spark)
    if moves_files(file_system):
        file_system.move(path, goal)
    else:
        _copy(file_system, path, goal)


def _copy(file_system: fs.FileSystem, path: str, goal: str) -> None:
    """Have copies of all objects, and then the objects no more.

    The note that makes a checkpoint of them is the last in both: one that is copied in part is none, and one that is
    removed in part is found to be damaged again.
    """
    found = [info.path for info in file_system.get_file_info(fs.FileSelector(path, recursive=True)) if info.is_file]
    found.sort(key=lambda one: one.endswith(f"/{NOTE}"))
    for one in found:
        file_system.copy_file(one, goal + one.removeprefix(path))
    for one in found:
        file_system.delete_file(one)
    file_system.delete_dir(path)  # what stood for directories
