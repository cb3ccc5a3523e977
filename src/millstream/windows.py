"""How event time is cut into windows: the definitions that windowed aggregations and stream-stream joins take.

Definitions are immutable values; durations are `timedelta`s and are kept in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum

from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.records import MAX_TIMESTAMP, Window

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIME = timedelta(0)
#: What the legacy `JoinWindows.of` allows for lateness and the window together.
_LEGACY_SPAN_MS = 24 * 60 * 60 * 1000


class EmitStrategy(Enum):
    """When a windowed aggregation passes its results on.

    Use it with `TimeWindowedKStream.emit_strategy` and `SessionWindowedKStream.emit_strategy`, which have examples.

    >>> EmitStrategy.ON_WINDOW_CLOSE.value
    'on_window_close'
    """

    #: Every update of a window is a result.
    ON_WINDOW_UPDATE = "on_window_update"
    #: A window is a result once, when it can no longer change.
    ON_WINDOW_CLOSE = "on_window_close"


@dataclass(frozen=True)
class TimeWindows:
    """Windows of a fixed size `[start, start + size)`, aligned to the epoch; hopping when they advance by less.

    Use tumbling windows for "per minute", hopping ones for "in the last five minutes, every minute". Give a grace if
    records may come late: without one, a record that comes after its window's end is dropped.

    >>> TimeWindows.of_size(timedelta(seconds=2)).advance_by(timedelta(seconds=1)).windows_for(2500)
    [Window(start=1000, end=3000), Window(start=2000, end=4000)]
    """

    size_ms: int
    advance_ms: int
    grace_ms: int

    @classmethod
    def of_size(cls, size: timedelta, grace: timedelta = _NO_TIME) -> TimeWindows:
        """Tumbling windows of that size, which take late records until `grace` after their end.

        Use it where each record belongs to one window.

        >>> TimeWindows.of_size(timedelta(minutes=5), grace=timedelta(minutes=1)).windows_for(301_000)
        [Window(start=300000, end=600000)]
        """
        size_ms = milliseconds(size, "a window's size", minimum=1)
        return cls(size_ms, size_ms, milliseconds(grace, "a window's grace"))

    def advance_by(self, advance: timedelta) -> TimeWindows:
        """Start a window every `advance`; smaller than the size, so that windows overlap.

        Use it where each record belongs to several windows (hopping windows).

        >>> TimeWindows.of_size(timedelta(minutes=5)).advance_by(timedelta(minutes=4)).windows_for(250_000)
        [Window(start=0, end=300000), Window(start=240000, end=540000)]
        """
        advance_ms = _signed(advance, "a window's advance")
        if not 0 < advance_ms <= self.size_ms:
            raise ArgumentError(
                "Window advancement interval should be more than zero and less than window duration which is "
                f"{self.size_ms} ms, but given advancement interval is: {advance_ms} ms"
            )
        return replace(self, advance_ms=advance_ms)

    @property
    def retention_ms(self) -> int:
        """How long a store must keep a window so that every accepted record finds it.

        >>> TimeWindows.of_size(timedelta(minutes=5), grace=timedelta(minutes=1)).retention_ms
        360000
        """
        return self.size_ms + self.grace_ms

    def windows_for(self, timestamp: int) -> list[Window]:
        """The windows a record of that time falls into, by ascending start.

        >>> TimeWindows.of_size(timedelta(seconds=1)).windows_for(1500)
        [Window(start=1000, end=2000)]
        """
        advance = self.advance_ms
        first = max(0, timestamp - self.size_ms + advance) // advance * advance
        return [Window(start, start + self.size_ms) for start in range(first, timestamp + 1, advance)]


@dataclass(frozen=True)
class UnlimitedWindows:
    """One window `[start, forever)`; records before its start belong to none.

    Use it to aggregate from a point in time on.

    >>> UnlimitedWindows.of(1000).windows_for(999)
    []
    """

    start_ms: int

    @classmethod
    def of(cls, start: int | datetime = 0) -> UnlimitedWindows:
        """The window from that time on (milliseconds since 1970, or a datetime with a time zone).

        >>> UnlimitedWindows.of(datetime(2026, 1, 1, tzinfo=UTC))
        UnlimitedWindows(start_ms=1767225600000)
        """
        if isinstance(start, datetime):
            if start.tzinfo is None:
                raise ArgumentError(
                    "a window's start needs a time zone", detail=f"start is {start!r}", hint="give tzinfo=UTC"
                )
            start = (start - _EPOCH) // timedelta(milliseconds=1)
        if start < 0:
            raise ArgumentError("a window cannot start before 1970", detail=f"start is {start}")
        return cls(start)

    @property
    def grace_ms(self) -> int:
        """The window never ends, so nothing is ever late.

        >>> UnlimitedWindows.of(0).grace_ms
        0
        """
        return 0

    @property
    def retention_ms(self) -> int:
        """For ever.

        >>> UnlimitedWindows.of(0).retention_ms == MAX_TIMESTAMP
        True
        """
        return MAX_TIMESTAMP

    def windows_for(self, timestamp: int) -> list[Window]:
        """The window, unless the record is from before its start.

        >>> UnlimitedWindows.of(1000).windows_for(5000)
        [Window(start=1000, end=9223372036854775807)]
        """
        return [Window(self.start_ms, MAX_TIMESTAMP)] if timestamp >= self.start_ms else []


@dataclass(frozen=True)
class SlidingWindows:
    """Windows `[start, start + difference]` that move with the records: one per distinct set of neighbours.

    Use them for "within ten seconds of each other", where windows aligned to the clock would cut neighbours apart.

    >>> from millstream import Consumed, Materialized, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder, near = StreamsBuilder(), SlidingWindows.of_time_difference(timedelta(seconds=10))
    >>> fails = builder.stream("fails", Consumed(Serdes.string, Serdes.string)).group_by_key()
    >>> table = fails.windowed_by(near).count(Materialized("fails"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     fails = driver.input_topic("fails", Serdes.string, Serdes.string)
    ...     fails.pipe_key_values([("ann", "x")] * 2, start=20_000, advance=timedelta(seconds=6))
    ...     list(driver.window_store("fails").fetch_range("ann", 0, 30_000))
    [(10000, 1), (16000, 2), (20001, 1)]
    """

    difference_ms: int
    grace_ms: int

    @classmethod
    def of_time_difference(cls, difference: timedelta, grace: timedelta = _NO_TIME) -> SlidingWindows:
        """Records at most `difference` apart share a window.

        >>> SlidingWindows.of_time_difference(timedelta(seconds=10), grace=timedelta(seconds=2))
        SlidingWindows(difference_ms=10000, grace_ms=2000)
        """
        return cls(milliseconds(difference, "a time difference"), milliseconds(grace, "a window's grace"))

    @property
    def retention_ms(self) -> int:
        """How long a store must keep a window so that every accepted record finds its neighbours.

        >>> SlidingWindows.of_time_difference(timedelta(seconds=10), grace=timedelta(seconds=2)).retention_ms
        22000
        """
        return 2 * self.difference_ms + self.grace_ms


@dataclass(frozen=True)
class SessionWindows:
    """Windows `[first record, last record]` of activity, parted by gaps without records.

    Use them for visits, calls, trips: things that begin and end by themselves. `SessionWindowedKStream` has examples.

    >>> SessionWindows.of_inactivity_gap(timedelta(minutes=30)).gap_ms
    1800000
    """

    gap_ms: int
    grace_ms: int

    @classmethod
    def of_inactivity_gap(cls, gap: timedelta, grace: timedelta = _NO_TIME) -> SessionWindows:
        """A session ends when no record of its key comes for longer than `gap` (0: records of one time only).

        >>> SessionWindows.of_inactivity_gap(timedelta(seconds=10), grace=timedelta(seconds=5))
        SessionWindows(gap_ms=10000, grace_ms=5000)
        """
        return cls(milliseconds(gap, "an inactivity gap"), milliseconds(grace, "a window's grace"))

    @property
    def retention_ms(self) -> int:
        """How long a store must keep a session so that every accepted record finds it.

        >>> SessionWindows.of_inactivity_gap(timedelta(seconds=10), grace=timedelta(seconds=5)).retention_ms
        15000
        """
        return self.gap_ms + self.grace_ms


@dataclass(frozen=True)
class JoinWindows:
    """Which records of two streams meet: left time - before <= right time <= left time + after.

    Use it with `KStream.join`, `left_join` and `outer_join` of another stream, which have examples.

    >>> JoinWindows.of_time_difference(timedelta(seconds=10)).before(timedelta(0)).size_ms
    10000
    """

    before_ms: int
    after_ms: int
    grace_ms: int
    #: True: a left or outer join waits until the window is closed before it says that there was no match.
    #: False: it says so at once, and the match may follow.
    waits_for_close: bool

    def __post_init__(self) -> None:
        if self.before_ms + self.after_ms < 0:
            raise ArgumentError(
                "Window interval (ie, beforeMs+afterMs) must not be negative.",
                detail=f"before is {self.before_ms} ms, after is {self.after_ms} ms",
            )

    @classmethod
    def of_time_difference(cls, difference: timedelta, grace: timedelta = _NO_TIME) -> JoinWindows:
        """Records at most `difference` apart meet.

        Use it where either may come first. Give a grace if records may come late. A left or outer join waits that much
        longer before it says that a record has no match.

        >>> windows = JoinWindows.of_time_difference(timedelta(seconds=10), grace=timedelta(seconds=2))
        >>> windows.before_ms, windows.after_ms, windows.grace_ms
        (10000, 10000, 2000)
        """
        difference_ms = milliseconds(difference, "a time difference")
        return cls(difference_ms, difference_ms, milliseconds(grace, "a window's grace"), waits_for_close=True)

    @classmethod
    def of(cls, difference: timedelta) -> JoinWindows:
        """The legacy form: a grace of a day less the window, and unmatched records are reported at once.

        Use it only for topologies that come from an old Kafka Streams application and must give the same results.

        >>> JoinWindows.of(timedelta(hours=1)).grace_ms == 22 * 60 * 60 * 1000
        True
        """
        difference_ms = milliseconds(difference, "a time difference")
        grace_ms = max(0, _LEGACY_SPAN_MS - 2 * difference_ms)
        return cls(difference_ms, difference_ms, grace_ms, waits_for_close=False)

    def before(self, difference: timedelta) -> JoinWindows:
        """The right record may be that much earlier than the left one (negative: must be later).

        Use it where order matters: `before(timedelta(0))` takes only right records that follow.

        >>> JoinWindows.of_time_difference(timedelta(seconds=10)).before(timedelta(seconds=1)).before_ms
        1000
        """
        return replace(self, before_ms=_signed(difference, "a time difference"))

    def after(self, difference: timedelta) -> JoinWindows:
        """The right record may be that much later than the left one (negative: must be earlier).

        Use it where order matters: `after(timedelta(0))` takes only right records that came before.

        >>> JoinWindows.of_time_difference(timedelta(seconds=10)).after(timedelta(0)).after_ms
        0
        """
        return replace(self, after_ms=_signed(difference, "a time difference"))

    def grace(self, grace: timedelta) -> JoinWindows:
        """Another grace, for the legacy form; the current one takes it in `of_time_difference`.

        >>> JoinWindows.of(timedelta(seconds=10)).grace(timedelta(seconds=2)).grace_ms
        2000
        """
        if self.waits_for_close:
            raise ArgumentError(
                "grace() belongs to the legacy JoinWindows.of",
                hint="give JoinWindows.of_time_difference(difference, grace=...)",
            )
        return replace(self, grace_ms=milliseconds(grace, "a window's grace"))

    @property
    def size_ms(self) -> int:
        """The span in which partners of one record lie.

        >>> JoinWindows.of_time_difference(timedelta(seconds=10)).size_ms
        20000
        """
        return self.before_ms + self.after_ms

    @property
    def retention_ms(self) -> int:
        """How long a join's stores keep a record.

        >>> JoinWindows.of_time_difference(timedelta(seconds=10), grace=timedelta(seconds=2)).retention_ms
        22000
        """
        return self.size_ms + self.grace_ms


def _signed(duration: timedelta, what: str) -> int:
    return milliseconds(duration, what, minimum=-MAX_TIMESTAMP)
