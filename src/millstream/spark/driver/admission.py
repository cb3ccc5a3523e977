"""How much a batch takes: what is there, within bounds that keep batches near the wanted time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from millstream.hosting.range_consumer import RangeConsumer
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.errors import BrokerUnavailable, KafkaError, TopicMissing
from millstream.spark.driver.arrivals import Arrivals
from millstream.spark.driver.changes import Changes
from millstream.spark.driver.control import Control
from millstream.spark.driver.horizon import Horizon
from millstream.spark.driver.idling import Idling
from millstream.spark.driver.lookahead import Lookahead
from millstream.spark.plan import TaskId
from millstream.spark.program import Program
from millstream.spark.state.checkpoint import Checkpoint

log = logging.getLogger("millstream.spark")

_T = TypeVar("_T")
Offsets = dict[str, Any]
Ends = dict[Partition, int]

_FIRST_RECORDS = 100_000
_MOST_GROWTH = 4
_SLEEP_SECONDS = 0.01
#: Without anything to do for so long, offsets are not asked for all the time any more.
_AWAKE_SECONDS = 0.2
#: How long it waits for records before it looks at everything else.
_IDLE_SECONDS = 0.25
_BEGINNING = "beginning.json"
_AWAY_SECONDS = 0.2
_WARN_SECONDS = 30.0
#: How long a topic may be missing: a broker that comes back does not know all at once.
_MISSING_SECONDS = 30.0
#: How long a topic of a pattern may be, before the application goes on without it.
_GONE_SECONDS = 15.0
_REPORT_SECONDS = 0.5
_LOOK_SECONDS = 5.0


class Admission:
    """Chooses the end of each batch. Lives in the driver's reader.

    Args:
        program: the application.
        admin: asks the broker what is there.
        control: what the driver says.
    """

    def __init__(self, program: Program, admin: Admin, control: Control) -> None:
        self._program = program
        self._admin = admin
        self._config = program.config
        plan = program.plan
        self._partitions = [
            (topic, partition)
            for topic, count in sorted(program.source_topics(plan.external).items())
            for partition in range(count)
        ]
        self._global_partitions = [
            (store.topic, partition)
            for store in program.topology.global_stores.values()
            for partition in range(plan.external[store.topic])
        ]
        idle = program.config.max_task_idle
        meeting = [[partition for partition in self._partitions if partition[0] in topics] for topics in plan.meeting()]
        self._horizon = Horizon([] if idle is None else meeting, admin, self._lookahead())
        #: Partitions of which lanes may take more than they were asked for: what meets is taken by time, in one batch.
        self._promised = set(self._partitions).difference(*meeting) if program.is_pure else set()
        self._idling = (
            Idling(_inputs_of_tasks(program, self._partitions), idle, admin, self._lookahead()) if idle else None
        )
        self._changes = Changes(program, admin, {topic for topic, _ in self._partitions})
        #: The ids of the topics of global tables, from which lanes of this run have read them.
        self._global_ids: dict[str, str] = {}
        self._interval_seconds = (program.config.commit_interval or timedelta(0)).total_seconds()
        #: When the last batch was begun.
        self._begun = 0.0
        self._arrivals = Arrivals(program.config)
        #: Since when there is nothing to do.
        self._idle_since: float | None = None
        self._target_seconds = program.config.target_batch_time / timedelta(seconds=1)
        self._limit = float(min(_FIRST_RECORDS * program.lanes, program.config.max_batch_records))
        self._taken = 0
        self._record_bytes = 0.0
        self._stop_at: dict[tuple[str, int], int] | None = None
        self._control = control
        self._reported = 0.0
        self._looked = time.time()
        #: Since when topics of a pattern are missing: a broker that comes back does not know all at once.
        self._missed: float | None = None
        #: Since when the broker does not answer, and when that was last said.
        self._troubled: float | None = None
        self._warned = -_WARN_SECONDS

    def _lookahead(self) -> Lookahead:
        return Lookahead(lambda: RangeConsumer(self._config, from_the_first=True))

    def beginning(self) -> Offsets:
        """Where the application starts. It is noted: when the first batch is run again, Spark asks again."""
        checkpoint = Checkpoint(self._program.checkpoint, self._program.config.spark)
        noted: Offsets | None = checkpoint.read(_BEGINNING)
        if noted is None:
            topics = self._patiently(lambda: self._starts(self._partitions))
            ids = self._patiently(lambda: self._admin.topic_ids(topics))
            noted = {"batch": 0, "now": 0, "topics": topics, "globals": {}, **({"ids": ids} if ids else {})}
            checkpoint.write(_BEGINNING, noted)
        return noted

    def _starts(self, partitions: list[tuple[str, int]]) -> dict[str, dict[str, int]]:
        """Where to begin: at the group's committed offsets, or as the sources' reset policies say."""
        if not partitions:
            return {}
        committed = self._admin.committed_offsets(partitions)
        begin = self._admin.begin_offsets(partitions)
        end = self._admin.end_offsets(partitions)
        topics: dict[str, dict[str, int]] = {}
        for partition in partitions:
            offset = committed.get(partition)
            if offset is None or not begin[partition] <= offset <= end[partition]:
                offset = self._program.start_of(partition, begin[partition], end[partition], self._admin)
            topics.setdefault(partition[0], {})[str(partition[1])] = offset
        return topics

    def stop_at_what_is_there(self) -> None:
        """Take nothing that comes later than now."""
        self._stop_at = self._patiently(lambda: self._admin.end_offsets(self._partitions))

    def next(self, start: Offsets) -> Offsets:
        """The end of the next batch; the start itself if there is nothing to do."""
        now = time.time()
        self._adapt()
        known = _by_partition(start["topics"])
        try:
            if self._has_other_topics(now):
                return self._rest(start)
            there = self._admin.end_offsets(self._partitions)
            changed = self._changes.look(known, there, start.get("ids", {}), now)
            if changed is None:
                time.sleep(_AWAY_SECONDS)
                return start
            if changed.is_news and self._has_other_topics(now, at_once=True):
                return self._rest(start)
            there = changed.ends
            new = {
                **_by_partition(self._starts([partition for partition in self._partitions if partition not in known])),
                **changed.starts,
            }
            starts = {**known, **new}
            if self._stop_at is not None:
                there = {partition: min(end, self._stop_at[partition]) for partition, end in there.items()}
            self._report(sum(max(0, there[partition] - starts[partition]) for partition in self._partitions), now)
            promised = {
                partition: end
                for partition, end in _by_partition(start.get("guaranteed", {})).items()
                if partition not in changed.starts
            }
            # Where it goes on is noted in any case: a batch may have no other reason.
            ends = self._ends(starts, there, promised, now, needed=changed.is_news)
            global_ends = self._global_ends()
        except KafkaError as error:
            self._changes.doubt()
            self._bear(error)
            return start
        self._troubled = None
        if ends is None:
            self._wait(starts, there, now)
            return start
        self._idle_since = None
        self._arrivals.rest()
        self._begun = now
        guaranteed = self._guaranteed_ends(starts, ends, there)
        return {
            "batch": start["batch"] + 1,
            "now": int(now * 1000),
            "topics": _topics(ends),
            "globals": global_ends,
            **({"ids": changed.ids} if changed.ids else {}),
            **({"from": _topics(new)} if new else {}),
            **({"guaranteed": _topics(guaranteed)} if guaranteed else {}),
        }

    def _wait(self, starts: Ends, there: Ends, now: float) -> None:
        """Until it is worth while to look again: soon as long as something goes on, else when something comes."""
        if self._stop_at is not None or any(there[partition] > starts[partition] for partition in self._partitions):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        if self._idle_since is None or now < self._idle_since + _AWAKE_SECONDS:
            time.sleep(_SLEEP_SECONDS)
            return
        due = self._control.due
        left = _IDLE_SECONDS if due is None else due / 1000 - now
        self._arrivals.wait(
            {partition: there[partition] for partition in self._partitions},
            max(_SLEEP_SECONDS, min(_IDLE_SECONDS, left)),
        )

    def _guaranteed_ends(self, starts: Ends, ends: Ends, there: Ends) -> Ends:
        """What the batch after this one takes at least, of what is there: its limit never falls below half of this."""
        return {
            partition: min(there[partition], end + (end - starts[partition]) // 2)
            for partition, end in ends.items()
            if partition in self._promised and there[partition] > end
        }

    def made_again(self, start: Offsets, end: Offsets) -> set[str]:
        """Topics that a batch cannot read: an earlier run has begun it, and they were made again since then."""
        if self._begun or "ids" not in end:
            return set()
        starts = {**_by_partition(start["topics"]), **_by_partition(end.get("from", {}))}
        return self._patiently(lambda: self._changes.made_again(end["ids"], starts, _by_partition(end["topics"])))

    def _rest(self, start: Offsets) -> Offsets:
        """Take no more batches: the topics are not those of the plan."""
        self._control.tell_other_topics()
        time.sleep(_AWAY_SECONDS)
        return start

    def _ends(self, starts: Ends, there: Ends, promised: Ends, now: float, *, needed: bool) -> Ends | None:
        """Where the next batch ends in each partition; None if it is not time for one.

        Args:
            starts: where it starts.
            there: what is there.
            promised: where it was said not to end before.
            now: seconds since 1970.
            needed: there must be one, even without records.
        """
        if self._idling is not None and self._stop_at is None:
            there = self._idling.ends(starts, there, now)
        waiting = {partition: max(0, there[partition] - starts[partition]) for partition in self._partitions}
        total = sum(waiting.values())
        room = self._config.max_batch_bytes / self._record_bytes if self._record_bytes else self._limit
        most = min(self._limit, room)
        soon = total < most and self._stop_at is None and now < self._begun + self._interval_seconds
        if (total == 0 or soon) and not needed and not self._punctuation_due(int(now * 1000)):
            return None
        # What was promised comes first; the rest of the room is for all.
        begun = {
            partition: max(starts[partition], min(promised.get(partition, 0), there[partition]))
            for partition in self._partitions
        }
        left = {partition: max(0, there[partition] - begun[partition]) for partition in self._partitions}
        rest = sum(left.values())
        share = max(0.0, min(1.0, (most - total + rest) / rest)) if rest else 1.0
        ends = self._horizon.ends(begun, left, share)
        self._taken = sum(end - starts[partition] for partition, end in ends.items())
        return ends

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        while True:
            try:
                return ask()
            except KafkaError as error:
                if self._control.is_paused:  # nobody waits for it any more
                    raise
                self._bear(error)

    def _bear(self, error: KafkaError) -> None:
        """Wait for a broker that is away. A topic may seem to be missing just after it is back."""
        now = time.monotonic()
        if self._troubled is None:
            self._troubled = now
        patient = isinstance(error, BrokerUnavailable) or (
            isinstance(error, TopicMissing) and now - self._troubled < _MISSING_SECONDS
        )
        if not patient:
            raise error
        if now - self._warned > _WARN_SECONDS:
            self._warned = now
            log.warning("waiting: %s", error)
        time.sleep(_AWAY_SECONDS)

    def _adapt(self) -> None:
        """Take more next time if the last batch was quick, less if it was slow."""
        last = self._control.last
        if last is None:
            return
        self._record_bytes = max(last.record_bytes, 1.0)
        if self._taken == 0:
            return
        wanted = self._taken / max(last.seconds, 0.001) * self._target_seconds
        if self._taken >= self._limit * 0.5 or wanted < self._limit:
            most = min(self._limit * _MOST_GROWTH, self._config.max_batch_records)
            self._limit = min(max(wanted, self._limit / 2, 1_000.0), most)
        self._taken = 0

    def _has_other_topics(self, now: float, *, at_once: bool = False) -> bool:
        """Whether a pattern has come to match more or fewer topics, or a topic has another number of partitions.

        If the topic of a global table was made again, lanes must read all of it, as those of a new run do.
        """
        if (now < self._looked + _LOOK_SECONDS and not at_once) or self._stop_at is not None:
            return False
        self._looked = now
        if self._global_partitions:
            ids = self._admin.topic_ids({topic for topic, _ in self._global_partitions})
            self._global_ids = ids | self._global_ids
            if ids != self._global_ids:
                return True
        planned = self._program.source_topics(self._program.plan.external)
        found = self._program.source_topics(self._admin.topics())
        if found == planned:
            self._missed = None
            return False
        if found.keys() >= planned.keys():
            return True
        self._missed = self._missed or now
        return now > self._missed + _GONE_SECONDS

    def _report(self, lag: int, now: float) -> None:
        """Let the driver know how much is waiting, now and then."""
        if now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            self._control.tell_lag(lag)

    def _punctuation_due(self, now: int) -> bool:
        """Whether a batch is worth while without any record: for punctuation, and once to set it up."""
        if self._stop_at is not None:
            return False
        if not self._begun:
            return self._program.has_user_code
        due = self._control.due
        return due is not None and due <= now

    def _global_ends(self) -> dict[str, dict[str, int]]:
        if not self._global_partitions:
            return {}
        ends: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in self._admin.end_offsets(self._global_partitions).items():
            ends.setdefault(topic, {})[str(partition)] = offset
        return ends


def _topics(offsets: Ends) -> dict[str, dict[str, int]]:
    """Offsets as they are in Spark's log."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def _by_partition(topics: Mapping[str, Mapping[str, int]]) -> Ends:
    """Offsets by partition, from how they are in Spark's log."""
    return {
        (topic, int(partition)): offset
        for topic, partitions in topics.items()
        for partition, offset in partitions.items()
    }


def _inputs_of_tasks(program: Program, partitions: Collection[Partition]) -> list[list[Partition]]:
    """The input partitions of each task that has several on the broker."""
    tasks: dict[TaskId, list[Partition]] = {}
    for topic, partition in partitions:
        for part in program.plan.readers(topic):
            tasks.setdefault(TaskId(part, partition), []).append((topic, partition))
    return [inputs for inputs in tasks.values() if len(inputs) > 1]
