"""A damaged checkpoint is set aside, so that the application can be rebuilt from Kafka; it is put back if it cannot."""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyarrow import fs

from millstream.spark.state.checkpoint import Checkpoint
from millstream.spark.state.storage import filesystem

log = logging.getLogger("millstream.client")


@dataclass(frozen=True)
class SetAside:
    """A checkpoint that is not where it was.

    Args:
        location: where it was.
        path: where it is.
    """

    location: Path
    path: Path

    @classmethod
    def move(cls, location: str) -> SetAside | None:
        """Move a checkpoint to a name beside its own; None where that cannot be done, as at once on object stores."""
        file_system, root = filesystem(location)
        if not isinstance(file_system, fs.LocalFileSystem):
            return None
        path = Path(root)
        now = datetime.now(UTC)
        aside = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%S.%f}")
        try:
            path.rename(aside)
        except OSError as error:
            log.warning("the checkpoint cannot be set aside: %s", error)
            return None
        return cls(path, aside)

    def put_back(self) -> bool:
        """Have it where it was, unless another one has taken its place; whether it is there."""
        if self.location.exists():
            if Checkpoint(str(self.location)).known_id() is not None:
                return False
            shutil.rmtree(self.location)
        self.path.rename(self.location)
        return True
