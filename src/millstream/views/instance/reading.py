"""The thread that reads changelogs and applies them to copies. It alone opens, fills and closes copies."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.store_files import remove_unused
from millstream.topology.topology import Topology
from millstream.views.instance.copies import Copy, GlobalCopy, Records, Task, TaskCopies
from millstream.views.instance.layout import Layout

log = logging.getLogger("millstream.views")

_POLL_SECONDS = 0.1
#: How many records are taken at a time: many as long as copies are being made, fewer when questions are answered, which
#: wait meanwhile.
_AT_ONCE = 5000
_AT_ONCE_BESIDE_QUESTIONS = 500
_CHECKPOINT_SECONDS = 5.0
#: The files of tasks that have gone elsewhere are kept for so long, in case they come back.
_UNUSED_SECONDS = 600.0
_SECOND = itemgetter(1)
_AWAY = frozenset(
    {ClientError.OFFSET_OUT_OF_RANGE, ClientError._AUTO_OFFSET_RESET}
)  # the broker does not have the offset that comes next


class Reading:
    """The copies of this instance, and the reading of their changelogs.

    Args:
        topology: the application's topology.
        config: the application's configuration.
        directory: where the views are.
    """

    def __init__(self, topology: Topology, config: StreamsConfig, directory: Path) -> None:
        self._topology = topology
        self._config = config
        self._directory = directory
        #: The copies, by store and partition, for whoever asks.
        self.copies: dict[tuple[str, int], Copy] = {}
        #: The copies, by the topic and partition that they are made of.
        self.feeds: dict[tuple[str, int], list[Copy]] = {}
        #: The copies, by task.
        self.tasks: dict[Task, TaskCopies] = {}
        #: Somebody is to look up ends, as there are new copies.
        self.has_new = Event()
        self._layout: Layout | None = None
        self._wanted: frozenset[Task] = frozenset()
        self._anew: SimpleQueue[Layout] = SimpleQueue()
        self._stop = Event()
        self._saved = self._cleaned = time.monotonic()
        #: Only a user's processor of a global store may look at them.
        self._heeds_headers = bool(topology.global_stores)
        self._watch = ErrorWatch()
        self._consumer: Consumer

    # --- for other threads

    def want(self, tasks: Iterable[Task]) -> None:
        """Have copies of these tasks, and no others."""
        self._wanted = frozenset(tasks)

    def change(self, layout: Layout) -> None:
        """Some topics are others now: make their copies anew."""
        self._anew.put(layout)

    def stop(self) -> None:
        """End soon, and leave clean checkpoints."""
        self._stop.set()

    # --- the thread

    def run(self, layout: Layout) -> None:
        """Read until stopped."""
        self._layout = layout
        application = self._config.application_id
        self._consumer = make_consumer(
            self._config,
            watch=self._watch,
            overrides={
                "group.id": f"{application}-views-reading",  # it is no member of any group
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "enable.partition.eof": "true",
            },
        )
        try:
            self._open_globals(layout)
            while not self._stop.is_set():
                self._adapt()
                first = self._consumer.poll(_POLL_SECONDS)
                if first is not None:
                    answering = all(copy.has_read_up for copy in self.copies.values())
                    most = _AT_ONCE_BESIDE_QUESTIONS if answering else _AT_ONCE
                    self._take([first, *self._consumer.consume(most, 0)])
                if time.monotonic() - self._saved > _CHECKPOINT_SECONDS:
                    self._save()
        finally:
            for task in list(self.tasks):
                self._close(task)
            for copy in list(self.copies.values()):
                copy.close()
            self.copies.clear()
            self._consumer.close()

    def _adapt(self) -> None:
        wanted = self._wanted
        for task in self.tasks.keys() - wanted:
            self._close(task)
        for task in sorted(wanted - self.tasks.keys()):
            self._open(task)
        try:
            while True:
                self._begin_anew(self._anew.get_nowait())
        except Empty:
            pass

    def _open_globals(self, layout: Layout) -> None:
        for view in layout.stores:
            if view.is_global:
                count = layout.partitions[view.topic]
                copy = GlobalCopy(view, self._topology, self._config, count)
                self.copies[view.name, 0] = copy
                for number in range(count):
                    self._feed((view.topic, number), copy)
                self.has_new.set()

    def _open(self, task: Task) -> None:
        if self._layout is None:
            raise AssertionError("not running")
        ids = self._layout.topic_ids
        views = [(view, ids.get(view.topic, "")) for view in self._layout.stores_of(task)]
        opened = self.tasks[task] = TaskCopies(task, views, self._directory)
        for copy in opened.copies:
            self._feed((copy.view.topic, task.partition), copy)
            self.copies[copy.view.name, task.partition] = copy
        log.debug("views: task %s is opened", task.name)
        self.has_new.set()

    def _close(self, task: Task) -> None:
        closed = self.tasks.pop(task)
        for copy in closed.copies:
            del self.copies[copy.view.name, task.partition]
            source = (copy.view.topic, task.partition)
            self.feeds[source].remove(copy)
            if not self.feeds[source]:
                del self.feeds[source]
                self._consumer.incremental_unassign([TopicPartition(*source)])
        closed.close()
        log.debug("views: task %s is closed", task.name)

    def _feed(self, source: tuple[str, int], copy: Copy) -> None:
        """Read a partition for one more copy, from where that is."""
        known = self.feeds.get(source)
        self.feeds[source] = [copy, *(known or ())]
        self._read_from(source, is_assigned=known is not None)

    def _read_from(self, source: tuple[str, int], *, is_assigned: bool) -> None:
        """Read a partition from where the copy is that is least far."""
        position = min(copy.progress[source[1]].position for copy in self.feeds[source])
        if is_assigned:
            self._consumer.incremental_unassign([TopicPartition(*source)])
        self._consumer.incremental_assign([TopicPartition(*source, position or OFFSET_BEGINNING)])

    def _take(self, messages: list[Message]) -> None:
        """Apply what was read: all records of a partition at once, so that who asks sees all of them or none."""
        events = [message for message in messages if message.error() is not None]
        if events:
            messages = [message for message in messages if message.error() is None]
        # One call for each field, not one for each field and record: this is done for all records.
        keys, values = (map(field, messages) for field in (Message.key, Message.value))
        records: list[Any] = list(zip(keys, values, map(_SECOND, map(Message.timestamp, messages)), strict=True))
        offsets: list[Any] = list(map(Message.offset, messages))
        headers = list(map(Message.headers, messages)) if self._heeds_headers else None
        sources = zip(map(Message.topic, messages), map(Message.partition, messages), strict=True)
        found: dict[Any, Records] = {}
        start = 0
        for source, run in groupby(sources):
            end = start + len(list(run))
            known = found.setdefault(source, Records([], [], []))
            known.offsets.extend(offsets[start:end])
            known.records.extend(records[start:end])
            if headers is not None:
                known.headers.extend(headers[start:end])
            start = end
        for source, taken in found.items():
            for copy in self.feeds.get(source, ()):
                copy.apply(source[1], taken)
        for event in events:
            self._heed(event)

    def _heed(self, event: Message) -> None:
        source, error = _source(event), event.error()
        copies = self.feeds.get(source, ())
        if error is None:
            raise AssertionError("no event")
        if error.code() == ClientError._PARTITION_EOF:
            for copy in copies:
                copy.reach(source[1], event.offset() or 0)
        elif error.code() not in _AWAY:
            self._watch(error)
        elif copies:
            log.warning("%s-%s has lost the records that come next: its copies are made anew", *source)
            self._rebuild(source)

    def _rebuild(self, source: tuple[str, int]) -> None:
        for copy in self.feeds[source]:
            copy.begin_anew()
        self._read_from(source, is_assigned=True)
        self.has_new.set()

    def _begin_anew(self, layout: Layout) -> None:
        """Make the copies of topics anew that were deleted and made again."""
        before, self._layout = self._layout, layout
        if before is None:
            return
        for source in list(self.feeds):
            topic = source[0]
            if before.topic_ids.get(topic) != layout.topic_ids.get(topic):
                log.warning("topic %s was deleted and made again: its copies are made anew", topic)
                for copy in self.feeds[source]:
                    copy.topic_id = layout.topic_ids.get(topic, "")
                self._rebuild(source)

    def _save(self) -> None:
        for copies in self.tasks.values():
            copies.save()
        self._saved = now = time.monotonic()
        if now - self._cleaned > _UNUSED_SECONDS:  # never right after a start, when tasks are still on their way
            self._cleaned = now
            removed = remove_unused(self._directory, {task.name for task in self.tasks}, _UNUSED_SECONDS)
            if removed:
                log.info("views: removed files of tasks %s, which are elsewhere now", ", ".join(removed))


def _source(message: Message) -> tuple[str, int]:
    return message.topic(), message.partition()  # type: ignore[return-value]  # None in errors of the whole client
