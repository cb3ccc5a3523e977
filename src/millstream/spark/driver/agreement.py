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

import msgspec
from confluent_kafka import TopicPartition
from pyarrow import fs

from millstream.errors import StreamsError
from millstream.spark.driver.ownership import Ownership
from millstream.spark.program import Program
from millstream.spark.state.markers import Marker, check_marker, content_of, gone_back, read_marker
from millstream.spark.state.statefiles import Version, filesystem
from millstream.topology.nodes import ProcessorNode

_WAYS_OUT = (
    "start with the checkpoint_location the application ran with, or with another application_id; to begin anew on "
    "purpose: millstream reset"
)


@dataclass(frozen=True)
class Committed:
    """What stands beside the input offsets that an application commits.

    Args:
        checkpoint: the id of its checkpoint.
        location: where that was.
        batch: the batch that ended at these offsets.
    """

    checkpoint: str
    location: str
    batch: int


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Committed).decode


def note(checkpoint: str, location: str, batch: int) -> str:
    """The metadata of input offsets."""
    return _encode(Committed(checkpoint, location, batch)).decode()


def read_note(metadata: str | None) -> Committed | None:
    """What stands beside a committed offset; None if it was not committed by an application of ours."""
    try:
        return _decode(metadata or "")
    except msgspec.MsgspecError:
        return None


@dataclass(frozen=True)
class SparkLog:
    """The batches in Spark's log, by our numbers: what each was."""

    contents: Mapping[int, str]

    @property
    def latest(self) -> int | None:
        """The last batch that was begun."""
        return max(self.contents, default=None)

    @classmethod
    def read(cls, checkpoint: str) -> SparkLog:
        """Read the log of a checkpoint.

        Raises:
            StreamsError: an entry is damaged.
        """
        file_system, root = filesystem(checkpoint)
        selector = fs.FileSelector(f"{root}/spark/offsets", allow_not_found=True)
        contents = {}
        for info in file_system.get_file_info(selector):
            if info.base_name.isdigit():
                with file_system.open_input_stream(info.path) as stream:
                    end = _last_line(info.path, stream.read())
                contents[int(end["batch"])] = content_of(end)
        return cls(contents)


def _last_line(path: str, data: bytes) -> dict[str, Any]:
    """The offset of our source, which is the last line of an entry."""
    try:
        found: dict[str, Any] = json.loads(data.decode().strip().rsplit("\n", 1)[-1])
        int(found["batch"])
    except (ValueError, TypeError, KeyError) as error:
        raise StreamsError(
            "the checkpoint is damaged",
            detail=f"{path} is not an entry of Spark's log: {error}",
            hint="restore the checkpoint from a backup that is as new as the outputs, or begin anew on purpose: "
            "millstream reset",
        ) from error
    return found


def check_new(application_id: str, keeps_state: bool, notes: Iterable[Committed], markers: Iterable[Marker]) -> None:
    """See that an application without a checkpoint may begin.

    One without state goes on at the group's offsets, if they are as far as its outputs. What keeps state cannot: it
    would be empty, and the records that made it are behind the offsets.

    Args:
        application_id: the application.
        keeps_state: whether it has stores.
        notes: what stands beside the group's offsets.
        markers: its progress under exactly once.

    Raises:
        StreamsError: it has run before, and what it needs is not here.
    """
    noted, marked = list(notes), list(markers)
    if not noted and not marked:
        return
    batch = max((note.batch for note in noted), default=-1)
    if not keeps_state and all(marker.batch <= batch for marker in marked):
        return
    before = max(noted, key=lambda note: note.batch, default=None)
    where = f"at {before.location} (id {before.checkpoint})" if before else f"with id {marked[0].checkpoint}"
    raise StreamsError(
        f"application '{application_id}' has run before, and its checkpoint is not here",
        detail=f"its checkpoint was {where}; Kafka has its progress up to batch "
        f"{max([batch, *(marker.batch for marker in marked)])}. Without the checkpoint its state would be empty, "
        "while its records are behind the group's offsets",
        hint=_WAYS_OUT,
    )


def check_known(checkpoint: str, log: SparkLog, notes: Iterable[Committed], markers: Iterable[Marker]) -> None:
    """See that a checkpoint and Kafka's progress belong together.

    Args:
        checkpoint: the checkpoint's id.
        log: what Spark's log knows.
        notes: what stands beside the group's offsets.
        markers: the progress of tasks.

    Raises:
        StreamsError: they do not.
    """
    for found in notes:
        if found.checkpoint != checkpoint:
            raise StreamsError(
                "the group's offsets belong to another checkpoint",
                detail=f"they were committed at batch {found.batch} with the checkpoint at {found.location} "
                f"(id {found.checkpoint}); this is id {checkpoint}",
                hint=_WAYS_OUT,
            )
    latest = log.latest
    for marker in markers:
        if latest is None or marker.batch > latest:
            here = "Spark's log is empty" if latest is None else f"Spark's log ends with batch {latest}"
            raise gone_back(marker, here)
        check_marker(marker, checkpoint, marker.batch, log.contents.get(marker.batch, marker.content))


def check_agreement(program: Program, ownership: Ownership, progress_partitions: int, *, is_new: bool) -> None:
    """Compare what Kafka knows of an application with its checkpoint.

    Args:
        program: the application.
        ownership: reads what its group has committed.
        progress_partitions: how many partitions the progress topic has.
        is_new: whether the checkpoint was only just made.

    Raises:
        StreamsError: they do not belong together.
    """
    inputs = [
        TopicPartition(topic, partition)
        for topic, count in program.source_topics(program.plan.external).items()
        for partition in range(count)
    ]
    progress = [TopicPartition(program.progress_topic, partition) for partition in range(progress_partitions)]
    found = ownership.committed([*inputs, *progress])
    notes = [note for at in found[: len(inputs)] if (note := read_note(at.metadata)) is not None]
    markers = [marker for at in found[len(inputs) :] if (marker := read_marker(at)) is not None]
    if is_new:
        keeps_state = any(isinstance(node, ProcessorNode) and node.stores for node in program.topology.nodes.values())
        check_new(program.config.application_id, keeps_state, notes, markers)
    else:
        check_known(program.checkpoint_id, SparkLog.read(program.checkpoint), notes, markers)


def progress_of(program: Program, reports: Iterable[Mapping[str, Any]]) -> list[TopicPartition]:
    """What to commit after a batch: its end, so that every lag tool shows it; at least once the markers, too.

    Args:
        program: the application.
        reports: what its lanes said of the batch.
    """
    offsets = []
    for report in reports:
        metadata = note(program.checkpoint_id, program.checkpoint, report["batch"])
        offsets += [TopicPartition(topic, at, end, metadata=metadata) for topic, at, end in report["ends"]]
        if not program.config.exactly_once:
            offsets += [
                Marker(program.checkpoint_id, marker, report["batch"], report["content"], Version(*task["state"])).at(
                    program.progress_topic, program.markers[marker]
                )
                for name, task in report["tasks"].items()
                if task.get("state") is not None and (marker := f"{name}/{report['wave']}")
            ]
    return offsets
