"""What a checkpoint was rebuilt from, because the one before it was lost."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from millstream.hosting.task_note import TaskNote, decode
from millstream.spark.plan import Partition
from millstream.spark.state.checkpoint import Checkpoint

_NAME = "origin.json"


@dataclass(frozen=True)
class Origin:
    """Kafka alone: changelogs up to these offsets, and the group's offsets.

    Args:
        before: the id of the checkpoint that was lost.
        ends: of each topic that state is in, by partition, the offset before which it is read.
        notes: what tasks knew beside the rows of their stores (see `task_note`), as base64, by their names.
    """

    before: str
    ends: Mapping[str, Mapping[str, int]] = field(hash=False)
    notes: Mapping[str, str] = field(hash=False)

    def end(self, partition: Partition) -> int:
        """How far a partition of a changelog is read."""
        return self.ends.get(partition[0], {}).get(str(partition[1]), 0)

    def note(self, task: str) -> TaskNote | None:
        """What a task knew; None if it had nothing to do before."""
        found = self.notes.get(task)
        return None if found is None else decode(b64decode(found))

    def write(self, checkpoint: Checkpoint) -> None:
        """Note it in the new checkpoint: a task that has no files yet is rebuilt, however often it is started."""
        checkpoint.write(_NAME, asdict(self))

    @classmethod
    def read(cls, checkpoint: Checkpoint) -> Origin | None:
        """The origin of a checkpoint; None if it was not rebuilt."""
        found = checkpoint.read(_NAME)
        return None if found is None else cls(**found)
