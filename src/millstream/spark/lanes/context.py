"""What a task on Spark knows of its surroundings."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from millstream.hosting.context import PlacedContext
from millstream.spark.plan import TaskId
from millstream.spark.program import Program


class LaneContext(PlacedContext):
    """The context of a task on Spark: the batch's clock."""

    batch_time: int = 0

    def now(self) -> int:
        """The batch's time, which is the same when a batch is run again."""
        return self.batch_time


def state_directory(program: Program, task_id: TaskId) -> Path:
    """Where a task's persistent stores keep their files while a lane works on them."""
    return _application_directory(program) / task_id.name


def leave_state_directories(program: Program) -> None:
    """Remove those that nobody has files in: the last lane of a machine leaves nothing."""
    application = _application_directory(program)
    for directory in (*application.glob("[0-9]*_[0-9]*"), application):
        with contextlib.suppress(OSError):  # there is something in it
            directory.rmdir()


def _application_directory(program: Program) -> Path:
    base = program.config.state_dir or Path(tempfile.gettempdir()) / "millstream"
    return Path(base) / program.config.application_id
