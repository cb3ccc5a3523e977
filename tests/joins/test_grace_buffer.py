"""The buffer of stream-table joins with a grace period."""

from __future__ import annotations

from typing import Any

from millstream.processors.joins import GraceBuffer, GraceBufferBuilder
from millstream.processors.joins.grace_buffer import BufferedRecord
from millstream.records import Headers
from millstream.serdes import AnySerde, Serdes


def make(grace: int = 10, value: AnySerde = Serdes.string, logging: bool = True) -> GraceBuffer:
    return GraceBufferBuilder("b", Serdes.string, value, grace, logging).build()


def record(key: str, value: Any, timestamp: int, headers: Headers | None = None) -> BufferedRecord:
    return BufferedRecord(key, value, timestamp, headers, "in", 0, 7)


def evicted(buffer: GraceBuffer) -> list[BufferedRecord]:
    records: list[BufferedRecord] = []
    buffer.evict(records.append)
    return records


def test_the_log_has_the_layout_of_kafka_streams() -> None:
    buffer = make()
    assert buffer.put(record("k", "v", 1, Headers([("h", b"x"), ("n", None)])))
    head = (1).to_bytes(8, "big") + (7).to_bytes(8, "big") + b"\0\0\0\x02in" + b"\0\0\0\0"
    headers = b"\0\0\0\x02" + b"\0\0\0\x01h\0\0\0\x01x" + b"\0\0\0\x01n\xff\xff\xff\xff"
    values = b"\xff" * 8 + b"\0\0\0\x01v" + b"\0" * 8
    assert buffer.take_changes() == {(1).to_bytes(8, "big") + b"k" + b"\0\0\0\x01": head + headers + values}
    assert buffer.take_changes() == {}


def test_a_buffer_can_be_rebuilt_from_its_log_and_from_a_snapshot() -> None:
    buffer, rebuilt, copied = make(), make(), make()
    first = record("a", "1", 1, Headers([("h", b"x"), ("n", None)]))
    second = record("b", "2", 5)._replace(topic=None, partition=-1, offset=-1)
    for each in (first, second, record("c", "3", 11)):
        buffer.put(each)
    rebuilt.apply_changes(buffer.take_changes().items())
    copied.apply_changes(buffer.snapshot())
    assert evicted(rebuilt) == evicted(copied) == evicted(buffer) == [first]
    rebuilt.apply_changes(buffer.take_changes().items())
    rebuilt.put(record("d", "4", 15))
    assert evicted(rebuilt) == [second]
    assert not rebuilt.put(record("e", "5", 4))
    assert len(rebuilt) == 2


def test_values_that_can_be_changed_in_place_are_kept_as_they_were() -> None:
    buffer = make(0, Serdes.json, logging=False)
    value = {"n": 1}
    headers = Headers()
    buffer.put(record("k", value, 1, headers))
    value["n"] = 2
    headers.add("later", b"")
    assert [(each.value, each.headers) for each in evicted(buffer)] == [({"n": 1}, Headers())]
    assert buffer.take_changes() == {}


def test_a_record_is_forgotten_only_after_it_was_handed_over() -> None:
    buffer = make(0)
    buffer.put(record("k", "v", 1))

    def fail(_: BufferedRecord) -> None:
        raise ValueError

    for _ in range(2):
        try:
            buffer.evict(fail)
        except ValueError:
            assert len(buffer) == 1
