"""What Kafka knows of an application's progress: markers, one for each task and wave, and notes beside input offsets.

A marker is a committed offset of the application's own group on the topic `<application>-progress`. The offset is the
batch, the metadata beside it says which batch that was: of which checkpoint, with which content, and which state file
the task wrote last. Under exactly once a marker is part of the transaction that holds the outputs, so that both are
there or neither is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from confluent_kafka import TopicPartition

from millstream.errors import CheckpointDamaged, StreamsError
from millstream.spark.state.statefiles import Version


@dataclass(frozen=True)
class Marker:
    """How far the outputs of a task's wave are out.

    Args:
        checkpoint: the id of the checkpoint that the batch belongs to.
        task: the task and the wave, as `0_1/0`.
        batch: the last batch whose outputs are out.
        content: tells the batch from another one with the same number.
        state: the version of the last state file of the task; None if it has none.
    """

    checkpoint: str
    task: str
    batch: int
    content: str
    state: Version | None

    def at(self, topic: str, partition: int) -> TopicPartition:
        """The marker as an offset to commit; the next batch, as for consumers: 0 could not be told from nothing."""
        return TopicPartition(topic, partition, self.batch + 1, metadata=_encode(self).decode())


@dataclass(frozen=True)
class Committed:
    """What stands beside the input offsets that an application commits.

    Args:
        checkpoint: the id of its checkpoint.
        location: where that was.
        batch: the batch that ended at these offsets.
        lanes: how many lanes it had.
    """

    checkpoint: str
    location: str
    batch: int
    lanes: int = 0


#: The name of the marker that the driver sets when a batch is done, in all of its waves and lanes.
BATCH = "batch"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Marker).decode
_decode_note = msgspec.json.Decoder(Committed).decode


def input_offset(partition: tuple[str, int], end: int, beside: Committed) -> TopicPartition:
    """The end of a batch in an input partition, as an offset to commit."""
    return TopicPartition(*partition, end, metadata=_encode(beside).decode())


def read_note(metadata: str | None) -> Committed | None:
    """What stands beside a committed offset; None if it was not committed by an application of ours."""
    try:
        return _decode_note(metadata or "")
    except msgspec.MsgspecError:
        return None


def read_marker(at: TopicPartition) -> Marker | None:
    """The marker of a committed offset; None if nothing was committed.

    Raises:
        StreamsError: somebody else committed it.
    """
    if at.offset < 0:
        return None
    try:
        return _decode(at.metadata or "")
    except msgspec.MsgspecError as error:
        raise StreamsError(
            "the progress in Kafka cannot be read",
            detail=f"{at.topic}, partition {at.partition}: offset {at.offset}, metadata {at.metadata!r}",
            hint="it was written by another version of Millstream or by another program; to begin anew on purpose: "
            "millstream reset",
        ) from error


def content_of(end: Mapping[str, Any]) -> str:
    """A short name for what a batch is, from its end as it is in Spark's log."""
    return hashlib.sha256(json.dumps(end, sort_keys=True).encode()).hexdigest()[:16]


def check_marker(found: Marker, checkpoint: str, batch: int, content: str) -> None:
    """See that a marker belongs to the history that a batch is about to go on with.

    Raises:
        StreamsError: outputs are out that this checkpoint knows nothing of.
    """
    if found.checkpoint != checkpoint:
        raise StreamsError(
            "the progress in Kafka belongs to another checkpoint",
            detail=f"task {found.task} was at batch {found.batch} of checkpoint {found.checkpoint}; "
            f"this is checkpoint {checkpoint}",
            hint="start with the checkpoint_location the application ran with, or with another application_id; to "
            "begin anew on purpose: millstream reset",
        )
    if found.batch > batch or (found.batch == batch and found.content != content):
        raise gone_back(found, f"batch {batch} is to be run" + (" with other records" if found.batch == batch else ""))


def gone_back(found: Marker, here: str) -> CheckpointDamaged:
    """The checkpoint is older than what Kafka knows."""
    return CheckpointDamaged(
        "the checkpoint has gone back behind its outputs",
        detail=f"the outputs of task {found.task} are out up to batch {found.batch}; in the checkpoint {here}. Results "
        "that are out would be written again, or others not at all",
        hint="restore the newest copy of the checkpoint (a backup from before is too old); or move it away, and it is "
        "rebuilt from Kafka; to begin anew on purpose: millstream reset",
    )
