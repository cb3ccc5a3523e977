"""The thread that keeps touch with the other instances: the group, announcements, and what follows from them."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping
from threading import Event

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.errors import FencedError
from millstream.kafka.clients import ErrorWatch, make_consumer, make_producer
from millstream.views.answers import Instance
from millstream.views.instance import announcements, placement
from millstream.views.instance.announcements import ANNOUNCE_SECONDS, GONE_SECONDS, Announcement, CopyState, Roster
from millstream.views.instance.copies import Task
from millstream.views.instance.layout import Layout
from millstream.views.instance.reading import Reading

log = logging.getLogger("millstream.views")

_TICK_SECONDS = 0.1
#: How often an instance that is alone looks whether its copies are as they should be, once they have read up.
_READY_SECONDS = 1.0
_LEAVE_SECONDS = 5.0
#: For so long the group waits for a member that went without a word; it may come back and have what it had.
_SESSION_MS = 10_000


class Members:
    """This instance among the others.

    Args:
        config: the application's configuration.
        instance: this instance.
        reading: its copies.
        alone: it has copies of everything, and neither asks nor tells others.
    """

    def __init__(self, config: StreamsConfig, instance: Instance, reading: Reading, *, alone: bool = False) -> None:
        self._is_alone = alone
        self._config = config
        self._instance = instance
        self._reading = reading
        self._roster = Roster(instance.id)
        self._owned: frozenset[Task] = frozenset()
        self._topics: dict[str, list[int]] = {}
        self._tasks: dict[str, Task] = {}
        self._stop = Event()
        self._watch = ErrorWatch()
        self._from = self._heard = 0
        #: The instances that are alive, by id; replaced as a whole.
        self.alive: Mapping[str, Announcement] = {}

    def stop(self) -> None:
        """Leave the others soon."""
        self._stop.set()

    def change(self, layout: Layout) -> None:
        """Take note of the tasks there are."""
        self._tasks = {task.name: task for task in layout.tasks()}
        self._topics = layout.topic_of_sub_topologies()

    def run(self, layout: Layout) -> None:
        """Keep touch until stopped."""
        self.change(layout)
        if self._is_alone:
            self._run_alone()
            return
        topic = announcements.announcements_topic(self._config.application_id).name
        group = self._join() if self._tasks else None
        listener = self._listen(topic)
        self._from = self._end_of(listener, topic)
        speaker = make_producer(
            self._config, watch=self._watch, overrides={"linger.ms": "0", "message.timeout.ms": "2000"}
        )
        spoken, said = 0.0, None
        try:
            while not self._stop.is_set():
                if group is not None:
                    self._check(group.poll(0))
                self._hear(listener)
                now = time.monotonic()
                state = self._state()
                if now - spoken >= ANNOUNCE_SECONDS or state != said:
                    spoken, said = now, state
                    announcement = self._announcement()
                    self._roster.speak(announcement, now)
                    self._say(speaker, topic, announcements.encode(announcement))
                self._roster.forget(now)
                self._place(now)
        finally:
            self.alive = {}
            self._say(speaker, topic, None)
            speaker.flush(_LEAVE_SECONDS)
            listener.close()
            if group is not None:
                group.close()

    def _run_alone(self) -> None:
        """Answer for all tasks."""
        while not self._stop.is_set():
            self._owned = frozenset(self._tasks.values())
            now, announcement = time.monotonic(), self._announcement()
            self._roster.speak(announcement, now)
            self._place(now)
            is_ready = all(announcement.has_all_of(name) for name in self._tasks)
            self._stop.wait(_READY_SECONDS if is_ready else _TICK_SECONDS)
        self.alive = {}

    def _join(self) -> Consumer:
        consumer = make_consumer(
            self._config,
            watch=self._watch,
            overrides={
                "group.id": f"{self._config.application_id}-views",
                "group.protocol": "classic",
                "group.instance.id": self._instance.id,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": str(_SESSION_MS),
                "heartbeat.interval.ms": "1000",
                "auto.offset.reset": "latest",
            },
        )
        consumer.subscribe(
            sorted(self._topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )
        return consumer

    def _check(self, event: Message | None) -> None:
        """Heed what the group says: it may want nothing to do with this instance any more."""
        error = None if event is None else event.error()
        if error is not None and error.code() == ClientError._FATAL:
            raise FencedError(
                f"instance {self._instance.id} is not a member of its group any more",
                detail=error.str(),
                hint="another process has the same instance id: give each its own, and a state_dir of its own",
            )
        if error is not None:
            self._watch(error)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Answer for more tasks. The group only shares them out: records are read by `Reading`."""
        for at in partitions:
            at.offset = OFFSET_END
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)
        self._own(self._owned | self._tasks_of(partitions))

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._own(self._owned - self._tasks_of(partitions))
        consumer.incremental_unassign(partitions)

    def _tasks_of(self, partitions: list[TopicPartition]) -> frozenset[Task]:
        return frozenset(Task(number, at.partition) for at in partitions for number in self._topics[at.topic])

    def _own(self, tasks: frozenset[Task]) -> None:
        self._owned = tasks
        log.info("views: instance %s answers for tasks %s", self._instance.id, ", ".join(_names(tasks)) or "none")

    def _listen(self, topic: str) -> Consumer:
        consumer = make_consumer(
            self._config,
            watch=self._watch,
            overrides={
                "group.id": f"{self._config.application_id}-views-listening",  # it is no member of any group
                "auto.offset.reset": "earliest",
            },
        )
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        return consumer

    def _end_of(self, listener: Consumer, topic: str) -> int:
        """Where the topic ends now: what comes from there on is said by somebody who is alive."""
        while not self._stop.is_set():
            with contextlib.suppress(KafkaException):
                return int(listener.get_watermark_offsets(TopicPartition(topic, 0), timeout=1)[1])
        return 0

    def _hear(self, listener: Consumer) -> None:
        first = listener.poll(_TICK_SECONDS)
        if first is None:
            return
        now = time.monotonic()
        for message in [first, *listener.consume(1000, 0)]:
            key, error = message.key(), message.error()
            if error is not None:
                self._watch(error)
            elif isinstance(key, bytes):
                value, offset = message.value(), message.offset() or 0
                if offset < self._heard:  # the topic was made again
                    self._from = 0
                self._heard = offset
                self._roster.hear(key, value if isinstance(value, bytes) else None, now, is_old=offset < self._from)

    def _state(self) -> object:
        """What others must know at once when it changes."""
        ready = frozenset(at for at, copy in list(self._reading.copies.items()) if copy.has_read_up)
        return self._owned, ready

    def _announcement(self) -> Announcement:
        copies = {
            task.name: {
                copy.view.name: CopyState(copy.progress[task.partition].position, copy.has_read_up)
                for copy in copies.copies
            }
            for task, copies in list(self._reading.tasks.items())
        }
        return Announcement(
            id=self._instance.id,
            host=self._instance.host,
            port=self._instance.port,
            sent_ms=time.time_ns() // 1_000_000,
            owned=frozenset(_names(self._owned)),
            copies=copies,
        )

    def _say(self, speaker: Producer, topic: str, value: bytes | None) -> None:
        with contextlib.suppress(BufferError, KafkaException):  # the next one comes soon
            speaker.produce(topic, value, self._instance.id.encode(), partition=0)
            speaker.poll(0)

    def _place(self, now: float) -> None:
        """Have the copies that this instance is to have."""
        self.alive = self._roster.alive(now)
        for task, copies in list(self._reading.tasks.items()):
            for copy in copies.copies:
                copy.owned = task in self._owned
        wanted = placement.wanted(
            self._instance.id,
            self._tasks,
            self._roster.alive(now, GONE_SECONDS),
            {task.name for task in list(self._reading.tasks)},
            self._config.num_standby_replicas,
        )
        self._reading.want(self._tasks[name] for name in wanted)


def _names(tasks: frozenset[Task]) -> list[str]:
    return [task.name for task in sorted(tasks)]
