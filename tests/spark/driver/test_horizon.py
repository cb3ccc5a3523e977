"""Batches that cannot take all there is end at one time in all partitions whose records meet."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from datetime import timedelta
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from millstream import Consumed, JoinWindows, Serdes, StreamsBuilder
from millstream.kafka.admin import Partition
from millstream.spark.driver.horizon import Horizon
from millstream.spark.plan import Plan

from .times import Times

A, B, C = ("a", 0), ("b", 0), ("c", 0)
YEAR_3000 = 32_503_680_000_000


def by_time(parts: Mapping[Partition, list[int]]) -> list[tuple[int, Partition]]:
    """How a task takes records: always the oldest of those that come next."""
    heap = [(times[0], place, 0) for place, times in parts.items() if times]
    heapq.heapify(heap)
    order = []
    while heap:
        time, place, index = heapq.heappop(heap)
        order.append((time, place))
        if index + 1 < len(parts[place]):
            heapq.heappush(heap, (parts[place][index + 1], place, index + 1))
    return order


def in_batches(
    topics: Times, limit: int, starts: dict[Partition, int] | None = None, horizon: Horizon | None = None
) -> tuple[list[tuple[int, Partition]], list[int]]:
    """How a task takes them batch by batch; and how large batches are."""
    horizon = horizon or Horizon([topics.times], topics, topics.lookahead())
    starts = dict(starts or dict.fromkeys(topics.times, 0))
    order, sizes = [], []
    while waiting := {place: end - starts[place] for place, end in topics.there().items() if end > starts[place]}:
        ends = horizon.ends(starts, waiting, min(1.0, limit / sum(waiting.values())))
        assert all(starts[place] <= end <= starts[place] + waiting[place] for place, end in ends.items())
        order += by_time({place: topics.times[place][starts[place] : end] for place, end in ends.items()})
        sizes.append(sum(end - starts[place] for place, end in ends.items()))
        assert sizes[-1] > 0
        starts.update(ends)
    return order, sizes


def rising(steps: list[int]) -> list[int]:
    return list(accumulate(steps))


@given(st.lists(st.lists(st.integers(1, 2_000), max_size=60).map(rising), min_size=1, max_size=4), st.integers(3, 30))
def test_the_order_is_as_if_all_were_taken_at_once(partitions: list[list[int]], limit: int) -> None:
    # Times differ: of records with the same time, any may come first.
    times = {("t", n): [time * 4 + n for time in found] for n, found in enumerate(partitions)}
    order, _ = in_batches(Times(times), limit)
    assert order == by_time(times)


@given(st.lists(st.lists(st.integers(0, 50), max_size=40), min_size=1, max_size=4), st.integers(1, 30))
def test_any_times_come_to_an_end(partitions: list[list[int]], limit: int) -> None:
    times = {("t", n): found for n, found in enumerate(partitions)}
    order, _ = in_batches(Times(times), limit)
    assert sorted(order) == sorted(by_time(times))


def test_a_partition_that_is_far_ahead_waits() -> None:
    day = 86_400_000
    topics = Times({A: list(range(0, day, 1_000)), B: [day - 1_000 + n for n in range(1_000)]})
    order, sizes = in_batches(topics, 5_000)
    assert order == by_time(topics.times)
    assert max(sizes) <= 5_000
    # A step is found at once when records come evenly.
    assert len(sizes) < 40
    assert topics.requests < 4 * len(sizes)


def test_an_application_that_goes_on_in_the_middle_keeps_them_in_step() -> None:
    """Its first look is at the beginning of the topics, long before what it has to take."""
    year = 365 * 86_400_000
    topics = Times({A: list(range(0, year, 500_000)), B: [*range(0, year, 400_000_000)]})
    middle = {A: 60_000, B: 70}
    left = {place: topics.times[place][start:] for place, start in middle.items()}
    order, _ = in_batches(topics, 500, middle)
    assert order == by_time(left)


def test_a_backlog_after_a_quiet_time_is_taken_in_step() -> None:
    """The last horizon is from long ago: since then batches took all there was."""
    topics = Times({A: list(range(0, 10_000, 10)), B: list(range(5, 10_000, 100))})
    horizon = Horizon([topics.times], topics, topics.lookahead())
    in_batches(topics, 300, horizon=horizon)
    now = 10**9
    starts = topics.there()
    topics.times[A].extend(range(now, now + 10_000, 10))
    topics.times[B].extend(range(now + 9_000, now + 9_100))
    order, _ = in_batches(topics, 300, starts, horizon)
    assert order == by_time({place: topics.times[place][start:] for place, start in starts.items()})


def test_a_record_of_the_year_3000_that_was_processed_long_ago_holds_nothing_up() -> None:
    """A broker finds it whatever time it is asked for: nothing of its partition would seem to come next."""
    topics = Times({A: [*range(100), YEAR_3000, *range(200, 9_200)], B: [*range(50), *range(201, 9_201)]})
    middle = {A: 101, B: 50}
    order, sizes = in_batches(topics, 500, middle)
    assert order == by_time({place: topics.times[place][start:] for place, start in middle.items()})
    assert max(sizes) <= 500
    assert len(sizes) < 60
    assert topics.requests < 5 * len(sizes) + 50
    # Each record is read once more, at most: what a batch does not take is remembered.
    assert topics.looked_through <= len(topics.times[A])


def test_a_record_of_the_year_3000_comes_last() -> None:
    """Those behind it wait for it, as they do in Kafka Streams; when all is taken, it does not hold up what follows."""
    topics = Times({A: [*range(0, 2_000, 2), YEAR_3000, *range(2_000, 4_000, 2)], B: [*range(1, 6_001, 2)]})
    horizon = Horizon([topics.times], topics, topics.lookahead())
    order, _ = in_batches(topics, 100, horizon=horizon)
    assert order == by_time(topics.times)
    starts = topics.there()
    topics.times[A].extend(range(10_000, 12_000, 2))
    topics.times[B].extend(range(11_001, 13_001, 2))
    order, _ = in_batches(topics, 100, starts, horizon)
    assert order == by_time({place: topics.times[place][start:] for place, start in starts.items()})


@given(
    st.lists(st.lists(st.integers(1, 2_000), max_size=60).map(rising), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=3),
    st.integers(3, 30),
    st.integers(0, 20),
)
def test_odd_records_anywhere_change_no_order(
    partitions: list[list[int]], odd: list[tuple[int, int]], limit: int, start: int
) -> None:
    times = {("t", n): [time * 4 + n for time in found] for n, found in enumerate(partitions)}
    for n, (partition, at) in enumerate(odd):
        if ("t", partition) in times:
            times["t", partition].insert(at, YEAR_3000 + n)
    starts = {place: min(start, len(found)) for place, found in times.items()}
    order, _ = in_batches(Times(times), limit, starts)
    assert order == by_time({place: found[starts[place] :] for place, found in times.items()})


def test_many_records_of_one_time_are_taken_by_count() -> None:
    _, sizes = in_batches(Times({A: [7] * 1_000, B: [7] * 3_000}), 400)
    assert max(sizes) <= 402
    assert len(sizes) <= 11


def test_topics_that_do_not_meet_are_taken_by_count() -> None:
    topics = Times({A: list(range(100)), B: list(range(1_000, 1_100))})
    ends = Horizon([], topics, topics.lookahead()).ends({A: 0, B: 0}, topics.there(), 0.1)
    assert ends == {A: 10, B: 10}
    assert topics.requests == 0


def test_which_topics_meet() -> None:
    builder = StreamsBuilder()
    text = Consumed(Serdes.string, Serdes.string)
    a, b, c, d = (builder.stream(name, text) for name in "abcd")
    a.join(b, lambda left, right: left + right, JoinWindows.of_time_difference(timedelta(seconds=1)))
    c.filter(lambda key, value: True).to("out")
    d.select_key(lambda key, value: value).repartition().to("out")
    plan = Plan(builder.build(), dict.fromkeys(["a", "b", "c", "d"], 2))
    assert sorted(map(sorted, plan.meeting())) == [["a", "b"], ["d"]]
