"""What a task changed, as records of changelog topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from millstream.changelogs import Changelog
from millstream.hosting.task_note import TaskNote
from millstream.state.store import LogRecord, StateStore
from millstream.task.records import OutputRecord, RawRecord

#: librdkafka takes 0 for "now".
LEAST_TIME = 1

Changes = Mapping[str, Mapping[bytes, bytes | None]]


def change_records(
    logs: Mapping[str, Changelog], partition: int, stores: Mapping[str, StateStore], changes: Changes, stream_time: int
) -> list[OutputRecord]:
    """A task's changes on their way to its changelogs.

    Args:
        logs: the changelogs of its stores.
        partition: the task's.
        stores: its stores.
        changes: what they changed.
        stream_time: the time of records that have none of their own.
    """
    records: list[OutputRecord] = []
    for name, changed in changes.items():
        found = logs.get(name)
        if found is not None and not found.is_source:
            topic, store = found.topic, stores[name]
            if store.keeps_headers:
                records += [
                    (topic, partition, key, value, max(timestamp, LEAST_TIME), headers)
                    for key, value, timestamp, headers in store.header_log_records(
                        changed, max(stream_time, LEAST_TIME)
                    )
                ]
                continue
            records += [
                (topic, partition, key, value, timestamp if timestamp > 0 else LEAST_TIME, None)
                for key, value, timestamp in store.log_records(changed, max(stream_time, LEAST_TIME))
            ]
    return records


def clocks_of(logs: Mapping[str, Changelog], stores: Mapping[str, StateStore]) -> dict[str, tuple[bytes, bytes]]:
    """What stores know of the time beside their rows."""
    return {name: (clock[0], clock[1] or b"") for name in logs if (clock := stores[name].clock())}


def set_clocks(logs: Mapping[str, Changelog], stores: Mapping[str, StateStore], note: TaskNote) -> None:
    """Put back what `clocks_of` told."""
    for name, clock in note.clocks.items():
        if name in logs:
            stores[name].apply_changes([clock])


def redo(store: StateStore, records: list[RawRecord]) -> None:
    """Have a store take records of its changelog. One without a key, which somebody else wrote, is no row."""
    if store.keeps_headers:
        store.apply_header_records(
            (key, value, timestamp, headers) for key, value, timestamp, headers, _ in records if key is not None
        )
    else:
        store.apply_records(_without_headers(records))


def _without_headers(records: list[RawRecord]) -> Iterator[LogRecord]:
    return ((key, value, timestamp) for key, value, timestamp, _, _ in records if key is not None)
