"""Many records in one message: nothing is lost, doubled or moved, also when a task stops in the middle of one."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream import (
    Consumed,
    Processor,
    ProcessorContext,
    Produced,
    PunctuationType,
    Record,
    Repartitioned,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)
from millstream.errors import MillstreamError, StateStoreError
from millstream.hosting.lanes import bundles
from millstream.hosting.lanes.bundles import MOST, offset_at, pack, place_of, unpack
from millstream.hosting.lanes.hosted_task import HostedTask
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.kafka.admin import Partition
from millstream.kafka.partitioner import partition_for
from millstream.task.records import OutputRecord, RawRecord

COUNTS = {"between": 3}
HEADERS = st.none() | st.lists(
    st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), min_size=1, max_size=2
)
OUTPUTS = st.lists(
    st.tuples(
        st.sampled_from(["between", "out"]),
        st.none() | st.integers(0, 2),
        st.none() | st.binary(max_size=4),
        st.none() | st.binary(max_size=40),
        st.integers(1, 2**40),
        HEADERS,
    ),
    max_size=40,
)


def as_read(messages: list[OutputRecord], partition: int, first: int = 0) -> list[RawRecord]:
    """What a consumer gets of a partition."""
    own = [message for message in messages if message[0] == "between" and message[1] == partition]
    return [(*message[2:], first + n) for n, message in enumerate(own)]


@given(OUTPUTS, st.integers(0, 100))
def test_what_is_packed_comes_out_again_in_order(records: list[OutputRecord], spread: int) -> None:
    messages = pack(records, COUNTS, spread)
    assert [message for message in messages if message[0] == "out"] == [one for one in records if one[0] == "out"]
    for partition in range(3):
        sent = [record for record in records if record[0] == "between" and _partition(record, spread) == partition]
        read = unpack(as_read(messages, partition), 0)
        assert [record[:4] for record in read] == [record[2:] for record in sent]
        places = [record[4] for record in read]
        assert places == sorted(set(places))


def _partition(record: OutputRecord, spread: int) -> int:
    _, chosen, key, *_ = record
    if chosen is not None:
        return chosen
    return spread % 3 if key is None else partition_for(key, 3)


@given(OUTPUTS, st.data())
def test_a_task_can_go_on_inside_a_message(records: list[OutputRecord], data: st.DataObject) -> None:
    messages = as_read(pack(records, {"between": 1}, 0), 0, first=5)
    read = unpack(messages, place_of(5, 0))
    done = data.draw(st.integers(0, len(read)))
    place = read[done][4] if done < len(read) else read[-1][4] + 1 if read else place_of(5, 0)
    offset, left = offset_at(place)
    again = [message for message in messages if message[4] >= offset]
    assert unpack(again, place_of(offset, left)) == read[done:]


def test_bundles_are_small_and_a_large_record_is_alone() -> None:
    chance = random.Random(3)
    sizes = [chance.choice([10, 10, 10, 3_000, 200_000]) for _ in range(4_000)]
    records: list[OutputRecord] = [("between", 0, b"k", bytes(size), 1, None) for size in sizes]
    messages = pack(records, {"between": 1}, 0)
    assert all(len(message[3] or b"") < 80_000 for message in messages if message[5] is not None)
    assert sum(message[5] is None and len(message[3] or b"") == 200_000 for message in messages) == sizes.count(200_000)
    assert [len(value or b"") for _, value, *_ in unpack(as_read(messages, 0), 0)] == sizes


def test_bundles_fit_into_topics_that_take_less() -> None:
    records: list[OutputRecord] = [("between", 0, b"k", bytes(100), 1, None) for _ in range(2_000)]
    config = StreamsConfig(client={"topic.max.message.bytes": 5_000, "producer.message.max.bytes": 100_000})
    messages = pack(records, {"between": 1}, 0, bundles.bundle_bytes(config))
    assert all(len(message[3] or b"") <= 2_500 for message in messages)
    assert len(unpack(as_read(messages, 0), 0)) == 2_000


def test_a_record_that_is_alone_is_a_message_as_any_other() -> None:
    assert pack([("between", None, b"k", b"v", 7, [("h", b"1")])], {"between": 1}, 0) == [
        ("between", 0, b"k", b"v", 7, [("h", b"1")])
    ]
    # What was written before there were bundles is read as it is.
    assert unpack([(b"k", b"v", 7, None, 4)], 0) == [(b"k", b"v", 7, None, 5 * MOST - 1)]


def test_a_damaged_bundle_is_told() -> None:
    with pytest.raises(StateStoreError, match="cannot be read") as caught:
        unpack([(None, b"\xc1", 1, bundles._MARK, 12)], 0)
    assert "offset 12" in str(caught.value)


# --- a task with two inputs


def merging() -> Topology:
    builder = StreamsBuilder()
    texts = Consumed(Serdes.string, Serdes.string)
    again = [Repartitioned(Serdes.string, Serdes.string, name=name) for name in ("a", "b")]
    one, other = (
        builder.stream(topic, texts).repartition(each) for topic, each in zip(("in-a", "in-b"), again, strict=True)
    )
    one.merge(other).process(Ticking).to("out", Produced(Serdes.string, Serdes.string))
    return builder.build()


class Ticking(Processor[str, str, str, str]):
    """Passes records on, and tells of each ten milliseconds of stream time."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", str(now), now))


def hosted(query: HostedQuery, task_id: HostedTaskId, note: bytes | None, directory: Path) -> HostedTask:
    def lost(task: HostedTask, error: MillstreamError) -> None:
        raise error

    return HostedTask(query, task_id, note, directory, lost, lambda share: None)


def test_a_task_that_waits_in_the_middle_of_a_message_goes_on_there_elsewhere(tmp_path: Path) -> None:
    topology = merging()
    between: tuple[Partition, Partition] = (("app-a-repartition", 0), ("app-b-repartition", 0))
    counts = {"in-a": 1, "in-b": 1, **{topic: 1 for topic, _ in between}, "out": 1}
    query = HostedQuery("q", topology, StreamsConfig(application_id="app"), counts, {})
    (task_id,) = [task for task in query.tasks if len(task.inputs) == 2]
    times = {between[0]: range(1, 60, 2), between[1]: range(0, 30, 2)}
    messages: dict[Partition, list[RawRecord]] = {}
    for at, own in times.items():
        made: list[OutputRecord] = [(at[0], 0, b"k", f"{at[0][4]}{time}".encode(), time, None) for time in own]
        packed = pack(made, {at[0]: 1}, 0)
        assert len(packed) == 1
        messages[at] = [(*message[2:], 3) for message in packed]
    written: list[str] = []
    first = hosted(query, task_id, None, tmp_path)
    for at, found in messages.items():
        first.next[at] = 4
        assert first.add(at, found) == len(times[at])
    first.process(lambda at: False)  # more may come of both
    records, note = first.finish("slots")
    assert first.positions == {between[0]: 3, between[1]: 4}
    first.close()
    written += [(record[3] or b"").decode() for record in records if record[0] == "out"]
    assert len(written) < 45
    second = hosted(query, task_id, note, tmp_path)
    assert second.next == {between[0]: 3, between[1]: 4}
    second.add(between[0], messages[between[0]])
    second.process(lambda at: True)
    records, _ = second.finish("slots")
    assert second.positions == {between[0]: 4, between[1]: 4}
    second.close()
    written += [(record[3] or b"").decode() for record in records if record[0] == "out"]
    expected = sorted([*(f"a{time}" for time in times[between[0]]), *(f"b{time}" for time in times[between[1]])])
    assert sorted(value for value in written if value[0] in "ab") == expected
    # Stream time is seen to go on in tasks with several inputs, too.
    assert len([value for value in written if value[0] not in "ab"]) == 6


def test_others_have_their_turn_in_the_middle_of_a_message(tmp_path: Path) -> None:
    """Functions may take seconds for each record, and the lane's group wants to hear of it meanwhile."""
    builder = StreamsBuilder()
    again = Repartitioned(Serdes.string, Serdes.string, name="a")
    stream = builder.stream("in", Consumed(Serdes.string, Serdes.string)).repartition(again)
    stream.to("out", Produced(Serdes.string, Serdes.string))
    between: Partition = ("app-a-repartition", 0)
    counts = {"in": 1, between[0]: 1, "out": 1}
    query = HostedQuery("q", builder.build(), StreamsConfig(application_id="app"), counts, {})
    (task_id,) = [task for task in query.tasks if task.inputs == (between,)]
    made: list[OutputRecord] = [(between[0], 0, b"k", str(number).encode(), number, None) for number in range(10)]
    messages = [(*message[2:], 0) for message in pack(made, {between[0]: 1}, 0)]
    task, note, written = hosted(query, task_id, None, tmp_path), b"", list[bytes | None]()
    for turn in range(4):
        if turn == 2:  # elsewhere
            task.close()
            task = hosted(query, task_id, note, tmp_path)
        if turn in (0, 2):
            task.next[between] = 1
            task.add(between, messages)
        task.process(lambda at: True, 3)
        assert task.is_cut == (turn < 3)
        assert task.positions[between] == (turn == 3)
        records, note = task.finish("slots")
        written += [record[3] for record in records if record[0] == "out"]
    task.close()
    assert written == [str(number).encode() for number in range(10)]
