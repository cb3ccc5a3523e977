"""A lane's thread that follows the changelogs of tasks that other lanes have."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.standing_by.group import Group, Member
from millstream.hosting.lanes.standing_by.joining import Joining
from millstream.hosting.lanes.standing_by.placement import share_of_newcomer, standbys
from millstream.hosting.lanes.standing_by.places import Place, remove_unused
from millstream.hosting.lanes.standing_by.standby import Standby, Warm, followed, left_behind
from millstream.kafka.admin import Partition
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.task.records import RawRecord

log = logging.getLogger("millstream.lanes")

_POLL_SECONDS = 0.5
#: How often it is looked who is in the group; more often until this lane has joined it.
_LOOK_SECONDS = 5.0
_LOOK_BEFORE_JOINING_SECONDS = 0.5
#: How often it is looked whether it should stand by for other tasks than it does, also while many records come.
_ADAPT_SECONDS = 0.25
_AT_ONCE = 5_000
_SAVE_SECONDS = 10.0
#: Files that nobody has used for so long are removed, as nobody would believe them any more.
_CLEAN_SECONDS = 3600.0
#: What is not wanted any more is kept for so long: slots that change hands are not seen by all lanes at once.
_UNWANTED_SECONDS = 20.0
#: After an error, a task is left alone for so long.
_AGAIN_SECONDS = 30.0
_END_SECONDS = 30.0
_GONE = frozenset({ClientError.OFFSET_OUT_OF_RANGE, ClientError._AUTO_OFFSET_RESET})

_Key = tuple[str, str]


class StandingBy:
    """What a lane has in reserve.

    All of it is done in a thread of its own; only `take` is called by others, and hands a standby over as it is.

    Args:
        settings: which lane it is.
        queries: the queries that lanes run now.
        own: the slots that the lane has itself.
        directory: for files that go with the lane.
    """

    def __init__(
        self,
        settings: LaneSettings,
        queries: Callable[[], list[HostedQuery]],
        own: Callable[[], set[int]],
        directory: Path,
    ) -> None:
        self._settings = settings
        self._queries = queries
        self._own = own
        self._directory = directory
        self._replicas = settings.config.num_standby_replicas
        self.joining = Joining(settings)
        self._lock = Lock()
        self._standbys: dict[_Key, Standby] = {}
        self._members: list[Member] = []
        #: Slots that this lane should stand by for.
        self._slots: set[int] = set()
        #: Since when standbys are not wanted any more.
        self._unwanted: dict[_Key, float] = {}
        self._not_before: dict[_Key, float] = {}
        self._assigned: dict[Partition, Standby] = {}
        self._looked = self._adapted = 0.0
        self._saved = self._cleaned = time.monotonic()
        self._watch = ErrorWatch()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="standing-by", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def take(self, query: HostedQuery, task_id: HostedTaskId) -> Warm | None:
        """What there is of a task that this lane goes on with now, here or on this machine; from any thread."""
        with self._lock:
            standby = self._standbys.pop((task_id.query, task_id.name), None)
        try:
            if standby is None:
                return left_behind(query, task_id, self._directory)
            with standby.lock:
                if standby.is_open and standby.fits(query):
                    return standby.hand_over()
                if standby.is_open:
                    standby.close(keep=False)
                return None
        except Exception as error:
            log.warning("task %s was in reserve here, but cannot be used: %s", task_id.name, error)
            return None

    def look_soon(self) -> None:
        """Slots have changed hands; from any thread."""
        self._looked = 0.0

    def lags(self, query_id: str) -> dict[str, int]:
        """Of the tasks of a query that are in reserve here, how many records each lacks, as far as that is known."""
        with self._lock:
            return {
                name: found.lag
                for (query, name), found in self._standbys.items()
                if query == query_id and found.lag is not None
            }

    def close(self) -> None:
        """Stand by no more; what is there is kept for the next lane where that is possible."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)

    # --- the thread

    def _run(self) -> None:
        settings = self._settings
        consumer = make_consumer(
            settings.config,
            watch=self._watch,
            overrides={
                "group.id": f"{settings.group}-standing-by",  # it is no member of any group
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "enable.partition.eof": "true",
                "queued.max.messages.kbytes": "16384",
            },
        )
        group = Group(settings.config, settings.group, settings.topic)
        try:
            while not self._stop.is_set():
                try:
                    self._turn(consumer, group)
                except Exception as error:  # it has no say in what the lane does otherwise
                    log.warning("standing by for tasks of other lanes: %s", error)
                    self.joining.consider(None, [], time.monotonic(), has_all=False)
                    self._stop.wait(_POLL_SECONDS)
        finally:
            self._close_all()
            consumer.close()

    def _turn(self, consumer: Consumer, group: Group) -> None:
        now = time.monotonic()
        often = _LOOK_SECONDS if self.joining.is_over else _LOOK_BEFORE_JOINING_SECONDS
        if now >= self._looked + often:
            self._looked = now
            self._look(group, now)
        if now >= self._adapted + _ADAPT_SECONDS:
            self._adapted = now
            self._adapt(consumer, now)
            self._measure(consumer)
        if not self._assigned:
            self._stop.wait(_POLL_SECONDS)
            return
        first = consumer.poll(_POLL_SECONDS)
        if first is not None:
            self._take([first, *consumer.consume(_AT_ONCE, 0)])
        if now >= self._saved + _SAVE_SECONDS:
            self._saved = now
            self._save(now)

    def _save(self, now: float) -> None:
        for standby in self._all():
            with standby.lock:
                if standby.is_open:
                    standby.save()
        if now >= self._cleaned + _CLEAN_SECONDS:  # never right after a start, when tasks are still on their way
            self._cleaned = now
            for query in self._queries():
                remove_unused(query.config, _CLEAN_SECONDS)

    def _look(self, group: Group, now: float) -> None:
        """See who is in the group, and whom to stand by for."""
        members = group.look()
        if not self.joining.is_over:
            lags = [standby.lag for standby in self._all()]
            self.joining.consider(members, lags, now, has_all=not self._missing())
        if members is None:
            return
        self._members = members
        me = next((member.id for member in members if member.client == self._settings.client), None)
        if me is not None:
            placed = standbys(members, self._replicas)
            self._slots = {slot for slot, names in placed.items() if me in names}
        elif not self.joining.is_over:
            self._slots = share_of_newcomer(members, self._replicas)

    # --- which ones

    def _all(self) -> list[Standby]:
        with self._lock:
            return list(self._standbys.values())

    def _wanted(self) -> dict[_Key, tuple[HostedQuery, HostedTaskId]]:
        slots = self._slots - self._own()
        return {
            (query.id, task.name): (query, task)
            for query in self._queries()
            for task in query.tasks
            if task.slot in slots and followed(query, task)
        }

    def _missing(self) -> bool:
        """Whether something is wanted that is not there yet, and is not known to be impossible."""
        with self._lock:
            return not self._queries() or bool(self._wanted().keys() - self._standbys.keys() - self._not_before.keys())

    def _adapt(self, consumer: Consumer, now: float) -> None:
        wanted = self._wanted()
        queries, own = {query.id: query for query in self._queries()}, self._own()
        for key, standby in list(self._standbys.items()):
            query = queries.get(key[0])
            if query is None or not (query is standby.query or standby.fits(query)):
                self._let_go(key, keep=False)
            elif key in wanted or standby.id.slot in own:  # who has its slot takes it
                self._unwanted.pop(key, None)
            elif now > self._unwanted.setdefault(key, now) + _UNWANTED_SECONDS:
                self._let_go(key, keep=False)
        for key, (query, task) in wanted.items():
            if key not in self._standbys and now >= self._not_before.get(key, 0.0) and self._may_open_more():
                self._open(key, query, task)
        self._assign(consumer)

    def _may_open_more(self) -> bool:
        """Not too many at the same time, as long as others do this lane's work."""
        config = self._settings.config
        cold = [one for one in self._all() if one.lag is None or one.lag > config.acceptable_recovery_lag]
        return self.joining.is_over or len(cold) < config.max_warmup_replicas

    def _open(self, key: _Key, query: HostedQuery, task: HostedTaskId) -> None:
        place = Place(query.config, task.name, self._directory)
        try:
            standby = Standby(query, task, place)
        except Exception as error:
            place.release(keep=False)
            self._put_off(key, task.name, error)
            return
        log.info("standing by for task %s, from %s", task.name, standby.positions)
        with self._lock:
            self._standbys[key] = standby

    def _put_off(self, key: _Key, task: str, error: Exception) -> None:
        self._not_before[key] = time.monotonic() + _AGAIN_SECONDS
        log.warning("cannot stand by for task %s, tried again in %.0f s: %s", task, _AGAIN_SECONDS, error)

    def _let_go(self, key: _Key, *, keep: bool) -> None:
        self._unwanted.pop(key, None)
        with self._lock:
            standby = self._standbys.pop(key, None)
        if standby is not None:
            with standby.lock:
                if standby.is_open:
                    standby.close(keep=keep)

    def _close_all(self) -> None:
        for key in list(self._standbys):
            with suppress(Exception):  # it is made anew
                self._let_go(key, keep=True)

    # --- reading

    def _assign(self, consumer: Consumer) -> None:
        """Read what standbys need, each from where it is."""
        needed = {at: standby for standby in self._all() for at in standby.positions}
        gone = [at for at, standby in self._assigned.items() if needed.get(at) is not standby]
        if gone:
            consumer.incremental_unassign([TopicPartition(*at) for at in gone])
        new = {at: standby for at, standby in needed.items() if self._assigned.get(at) is not standby}
        if new:
            consumer.incremental_assign(
                [TopicPartition(*at, standby.positions[at] or OFFSET_BEGINNING) for at, standby in new.items()]
            )
        self._assigned = needed

    def _take(self, messages: list[Message]) -> None:
        """Take what was read, in this order: the end of a partition says that the records before it are there."""
        for (topic, partition, is_record), run in groupby(messages, key=_kind):
            standby = self._assigned.get((topic, partition))  # none in errors of the whole client
            if standby is not None and is_record:
                self._apply(standby, (topic, partition), [_record(message) for message in run])
            elif standby is not None:
                for message in run:
                    self._heed(message, standby)

    def _apply(self, standby: Standby, at: Partition, records: list[RawRecord]) -> None:
        with standby.lock:
            if not standby.is_open:
                return
            try:
                standby.apply(at, records)
                return
            except Exception as error:
                failed = error
        self._fail(standby, failed)

    def _heed(self, message: Message, standby: Standby) -> None:
        error = message.error()
        if error is None:
            return
        if error.code() == ClientError._PARTITION_EOF:
            with standby.lock:
                standby.reach((message.topic() or "", message.partition() or 0), message.offset() or 0)
        elif error.code() in _GONE:
            self._fail(standby, RuntimeError(f"{message.topic()} does not have the records that come next"))
        else:
            self._watch(error)

    def _fail(self, standby: Standby, error: Exception) -> None:
        """Throw a standby away; it is made anew."""
        key = (standby.id.query, standby.name)
        self._put_off(key, standby.name, error)
        self._let_go(key, keep=False)

    def _measure(self, consumer: Consumer) -> None:
        """Note how far standbys are behind, as far as that is known without asking."""
        for standby in set(self._assigned.values()):
            lag = 0
            for at, position in list(standby.positions.items()):
                with suppress(KafkaException):
                    end = consumer.get_watermark_offsets(TopicPartition(*at), cached=True)[1]
                    if end < 0:
                        break
                    lag += max(0, end - position)
            else:
                standby.lag = lag


def _kind(message: Message) -> Any:
    """Where a message is from, and whether it is a record."""
    return message.topic(), message.partition(), message.error() is None


def _record(message: Message) -> Any:
    return message.key(), message.value(), message.timestamp()[1], message.headers(), message.offset()
