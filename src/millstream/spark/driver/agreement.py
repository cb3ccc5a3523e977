"""Do Kafka and the checkpoint tell the same story? Asked at every start, before anything is processed.

Both may have been lost, restored or exchanged while the application was away. Equal: it goes on. One ahead of the other
by the batch that was under way: that batch is finished. Anything else is refused, with what is there, what is missing
and the ways out; nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition
from pyarrow import fs

from millstream.config import Setting
from millstream.errors import CheckpointDamaged, StreamsError
from millstream.spark.driver.ownership import Ownership
from millstream.spark.program import Program
from millstream.spark.state.markers import (
    BATCH,
    Committed,
    Marker,
    check_marker,
    content_of,
    gone_back,
    input_offset,
    read_marker,
    read_note,
)
from millstream.spark.state.statefiles import Version
from millstream.spark.state.stateformat import HINT
from millstream.spark.state.storage import filesystem

#: With so many batches begun, at least one was marked as done.
_MARKED_AFTER = 3
WAYS_OUT = (
    "start with the checkpoint_location the application ran with, or with another application_id; to begin anew on "
    "purpose: millstream reset"
)


@dataclass(frozen=True)
class SparkLog:
    """The batches in Spark's log, by our numbers: what each was.

    Args:
        contents: of those that were begun.
        has_unfinished: the last of them was not done.
    """

    contents: Mapping[int, str]
    has_unfinished: bool = False

    @property
    def latest(self) -> int | None:
        """The last batch that was begun."""
        return max(self.contents, default=None)

    @classmethod
    def read(cls, checkpoint: str, spark: Mapping[str, Setting] | None = None) -> SparkLog:
        """Read the log of a checkpoint.

        Args:
            checkpoint: where it is.
            spark: properties of Spark.

        Raises:
            CheckpointDamaged: an entry cannot be right.
        """
        file_system, root = filesystem(checkpoint, spark)
        begun, done = (
            {
                int(info.base_name): info.path
                for info in file_system.get_file_info(fs.FileSelector(f"{root}/spark/{kind}", allow_not_found=True))
                if info.base_name.isdigit()
            }
            for kind in ("offsets", "commits")
        )
        contents = {}
        for path in begun.values():
            with file_system.open_input_stream(path) as stream:
                end = _last_line(path, stream.read())
            contents[int(end["batch"])] = content_of(end)
        return cls(contents, max(begun, default=-1) > max(done, default=-1))


def _last_line(path: str, data: bytes) -> dict[str, Any]:
    """The offset of our source, which is the last line of an entry."""
    try:
        found: dict[str, Any] = json.loads(data.decode().strip().rsplit("\n", 1)[-1])
        int(found["batch"])
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointDamaged(
            "the checkpoint is damaged", detail=f"{path} is not an entry of Spark's log: {error}", hint=HINT
        ) from error
    return found


@dataclass(frozen=True)
class Known:
    """What Kafka knows of an application.

    Args:
        inputs: the group's offsets of its input partitions.
        notes: what stands beside them.
        markers: its progress.
    """

    inputs: list[TopicPartition]
    notes: list[Committed]
    markers: list[Marker]

    @property
    def checkpoints(self) -> set[str]:
        """The ids of the checkpoints that it belongs to."""
        return {note.checkpoint for note in self.notes} | {marker.checkpoint for marker in self.markers}

    @classmethod
    def read(cls, program: Program, ownership: Ownership, progress_partitions: int, *, stable: bool = False) -> Known:
        """Ask Kafka.

        Args:
            program: the application.
            ownership: reads what its group has committed.
            progress_partitions: how many partitions the progress topic has.
            stable: wait for transactions that are about to end.
        """
        inputs = [
            TopicPartition(topic, partition)
            for topic, count in program.source_topics(program.plan.external).items()
            for partition in range(count)
        ]
        progress = [TopicPartition(program.progress_topic, partition) for partition in range(progress_partitions)]
        found = ownership.committed([*inputs, *progress], stable=stable)
        notes = [note for at in found[: len(inputs)] if (note := read_note(at.metadata)) is not None]
        markers = [marker for at in found[len(inputs) :] if (marker := read_marker(at)) is not None]
        return cls([at for at in found[: len(inputs)] if at.offset >= 0], notes, markers)


def check_known(program: Program, log: SparkLog, known: Known) -> None:
    """See that a checkpoint and Kafka's progress belong together.

    Args:
        program: the application, with its checkpoint.
        log: what Spark's log knows.
        known: what Kafka knows.

    Raises:
        StreamsError: they do not.
    """
    checkpoint = program.checkpoint_id
    for found in known.notes:
        if found.checkpoint != checkpoint:
            raise StreamsError(
                "the group's offsets belong to another checkpoint",
                detail=f"they were committed at batch {found.batch} with the checkpoint at {found.location} "
                f"(id {found.checkpoint}); this is id {checkpoint}",
                hint=WAYS_OUT,
            )
    latest = log.latest
    for marker in known.markers:
        if marker.batch > (0 if latest is None else latest):  # 0: nothing was done since it was rebuilt
            here = "Spark's log is empty" if latest is None else f"Spark's log ends with batch {latest}"
            raise gone_back(marker, here)
        check_marker(marker, checkpoint, marker.batch, log.contents.get(marker.batch, marker.content))
    if program.config.exactly_once and not known.markers and log.has_unfinished and (latest or 0) >= _MARKED_AFTER:
        raise StreamsError(
            "the progress of the application in Kafka is gone",
            detail=f"batch {latest} was under way when the application ended; whether its outputs are out stood beside "
            "the group's offsets, which are not there any more (brokers forget those of a group that is away for "
            "longer than offsets.retention.minutes)",
            hint="to begin anew on purpose: millstream reset",
        )


def progress_of(program: Program, reports: Iterable[Mapping[str, Any]]) -> list[TopicPartition]:
    """What to commit after a batch: its end, that it is done, and under at-least-once the markers of its tasks.

    Args:
        program: the application.
        reports: what its lanes said of the batch.
    """
    offsets: list[TopicPartition] = []
    for report in reports:
        beside = program.committed(report["batch"])
        offsets += [input_offset((topic, partition), end, beside) for topic, partition, end in report["ends"]]
        done = Marker(program.checkpoint_id, BATCH, report["batch"], report["content"], None)
        offsets.append(done.at(program.progress_topic, program.markers[BATCH]))
        if not program.config.exactly_once:
            offsets += [
                Marker(program.checkpoint_id, marker, report["batch"], report["content"], Version(*task["state"])).at(
                    program.progress_topic, program.markers[marker]
                )
                for name, task in report["tasks"].items()
                if task.get("state") is not None and (marker := f"{name}/{report['wave']}")
            ]
    return offsets
