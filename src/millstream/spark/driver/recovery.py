"""Beginning without a checkpoint: from nothing, or from what Kafka has kept of the application.

Under exactly once, changes, outputs and input offsets of a lane's wave are in one transaction. So what Kafka has is the
application as it was between two batches, if there is one wave. Behind an exchange it is so only if the last batch was
done in all waves: what one wave hands to the next is in the checkpoint alone.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing

from millstream.errors import StreamsError
from millstream.hosting.range_consumer import RangeConsumer
from millstream.hosting.task_note import TaskNote, decode
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.clients import make_producer
from millstream.spark.driver.agreement import WAYS_OUT, Known
from millstream.spark.driver.ownership import Ownership
from millstream.spark.program import Program
from millstream.spark.state.markers import BATCH, Marker, input_offset
from millstream.spark.state.origin import Origin
from millstream.topology.nodes import ProcessorNode

log = logging.getLogger("millstream.client")

_TRANSACTION_SECONDS = 60
#: The number of the batch before the first.
_NO_BATCH = 0


def find_origin(
    program: Program, ownership: Ownership, admin: Admin, progress_partitions: int, *, wanted: Iterable[str]
) -> Origin | None:
    """What an application without a checkpoint is rebuilt from; None if it has never run.

    Args:
        program: the application.
        ownership: this copy owns it.
        admin: asks the broker.
        progress_partitions: how many partitions the progress topic has.
        wanted: the changelog topics that it writes.

    Raises:
        StreamsError: it has run before, and what Kafka has does not suffice.
    """
    known = Known.read(program, ownership, progress_partitions)
    if not known.notes and not known.markers:
        check_never_run(program, _read_notes(program, admin))
        return None
    shut_out(program, max((note.lanes for note in known.notes), default=0) or len(program.plan.tasks))
    known = Known.read(program, ownership, progress_partitions, stable=True)
    topics = {log.topic for log in program.changelogs.values()}
    counts = admin.partition_counts([*topics, program.progress_topic])
    check_whole(program, known, [topic for topic in wanted if topic not in counts])
    places = [(topic, partition) for topic, count in counts.items() if topic in topics for partition in range(count)]
    ends = admin.end_offsets(places, committed=program.config.exactly_once)
    # What the application reads itself counts as far as it has read it.
    own = {(at.topic, at.partition): at.offset for at in known.inputs}
    sources = {log.topic for log in program.changelogs.values() if log.is_source}
    found = _by_topic({place: own.get(place, 0) if place[0] in sources else end for place, end in ends.items()})
    ids = admin.topic_ids(counts)
    changelogs = {store: ids.get(log.topic, "") for store, log in program.changelogs.items()}
    notes = _read_notes(program, admin)
    check_notes(program, known.markers, {name: decode(note) for name, note in notes.items()}, changelogs)
    before = next((note.checkpoint for note in known.notes), "") or known.markers[0].checkpoint
    if program.changelogs:
        log.warning("the checkpoint of '%s' is gone: restoring from Kafka alone", program.config.application_id)
    return Origin(before, found, {name: b64encode(note).decode() for name, note in notes.items()})


def check_never_run(program: Program, notes: Collection[str]) -> None:
    """See that an application of which the group knows nothing has left nothing else.

    Args:
        program: the application.
        notes: the tasks that have left notes in the progress topic.

    Raises:
        StreamsError: it has.
    """
    if notes:
        raise StreamsError(
            f"application '{program.config.application_id}' has run before, and neither its checkpoint nor its group's "
            "offsets are here",
            detail=f"{program.progress_topic} has the progress of {len(notes)} tasks, and its changelogs their state; "
            "how far its inputs were read is not known any more (brokers forget the offsets of a group that is away "
            "for longer than offsets.retention.minutes)",
            hint=WAYS_OUT,
        )


def check_whole(program: Program, known: Known, made: Iterable[str]) -> None:
    """See that what Kafka knows is an application between two batches.

    Args:
        program: the application.
        known: what Kafka knows of it.
        made: changelog topics that were not there.

    Raises:
        StreamsError: it is not.
    """
    application = program.config.application_id
    where = next((f"at {note.location} (id {note.checkpoint})" for note in known.notes), "unknown")
    lost = f"application '{application}' has run before, and its checkpoint is not here"
    missing = sorted(made)
    keeps_state = any(isinstance(node, ProcessorNode) and node.stores for node in program.topology.nodes.values())
    if missing and keeps_state:
        raise StreamsError(
            lost,
            detail=f"its checkpoint was {where}; the changelog topics {', '.join(missing)} are missing, too, so its "
            "state would be empty, while its records are behind the group's offsets",
            hint=WAYS_OUT,
        )
    if program.plan.waves == 1 or not program.config.exactly_once:
        return
    done = next((marker.batch for marker in known.markers if marker.task == BATCH), _NO_BATCH - 1)
    ahead = {marker.task: marker.batch for marker in known.markers if marker.batch > done}
    if ahead or any(note.batch > done for note in known.notes):
        raise StreamsError(
            f"{lost}, and its last batch was cut in two",
            detail=f"its checkpoint was {where}; batch {done} was the last that was done, but "
            f"{', '.join(f'task {task} has committed batch {batch}' for task, batch in ahead.items()) or 'others are'}"
            ". What tasks hand to each other within a batch is in the checkpoint alone",
            hint=WAYS_OUT,
        )


def check_notes(
    program: Program, markers: Iterable[Marker], notes: Mapping[str, TaskNote], changelogs: Mapping[str, str]
) -> None:
    """See that the changelogs have all that tasks have changed.

    Args:
        program: the application.
        markers: its progress.
        notes: what tasks left in the progress topic, by their names.
        changelogs: the ids of the topics that are there, by store.

    Raises:
        StreamsError: they do not.
    """
    stateful = {log.sub_topology for log in program.changelogs.values()}
    left = {marker.task.split("/")[0] for marker in markers if marker.state is not None}
    missing = [
        f"task {task.name} has left no note"
        for task in program.plan.tasks
        if task.sub_topology in stateful and task.name in left and task.name not in notes
    ]
    for name, note in notes.items():
        for store, topic_id in note.changelogs.items():
            changelog = program.changelogs.get(store)
            if changelog is not None and topic_id != changelogs[store]:
                missing.append(f"task {name}: {changelog.topic} does not have all of store '{store}'")
            elif changelog is not None and changelog.sub_topology != int(name.split("_")[0]):
                missing.append(f"store '{store}' has moved from task {name} to sub-topology {changelog.sub_topology}")
    if missing:
        raise StreamsError(
            f"application '{program.config.application_id}' has run before, and its checkpoint is not here",
            detail="its changelogs are not whole, so its state cannot be rebuilt from them: " + "; ".join(missing[:3]),
            hint=WAYS_OUT,
        )


def _read_notes(program: Program, admin: Admin) -> dict[str, bytes]:
    """The last note of each task, as bytes."""
    end = admin.end_offsets([program.notes], committed=program.config.exactly_once)[program.notes]
    found: dict[str, bytes] = {}
    if end:
        with closing(RangeConsumer(program.config, from_the_first=True)) as consumer:
            for _, records in consumer.read({program.notes: (0, end)}):
                found.update((key.decode(), value) for key, value, *_ in records if key and value)
    return found


def adopt(program: Program, ownership: Ownership, progress_partitions: int) -> None:
    """Have Kafka's progress belong to the new checkpoint: the old one, if it comes back, is refused from now on."""
    known = Known.read(program, ownership, progress_partitions)
    beside = program.committed(_NO_BATCH)
    offsets = [input_offset((at.topic, at.partition), at.offset, beside) for at in known.inputs]
    # All partitions: tasks that are gone, or had other numbers, have left markers there.
    names = {partition: name for name, partition in program.markers.items()}
    for partition in range(progress_partitions):
        marker = Marker(program.checkpoint_id, names.get(partition, "none"), _NO_BATCH, "", None)
        offsets.append(marker.at(program.progress_topic, partition))
    ownership.commit_now(offsets)


def shut_out(program: Program, lanes: int) -> None:
    """End what lanes of an earlier run may still have under way."""
    if program.config.exactly_once:
        for lane in range(lanes):
            make_producer(program.config, program.transactional_id(lane)).init_transactions(_TRANSACTION_SECONDS)


def _by_topic(offsets: dict[Partition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[str(partition)] = offset
    return found
