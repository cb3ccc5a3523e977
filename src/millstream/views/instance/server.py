"""The view server of one instance: three threads, and how they start and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

from millstream.config import StreamsConfig
from millstream.errors import NotReady, StateStoreError
from millstream.kafka.admin import Admin
from millstream.kafka.errors import KafkaError
from millstream.topology.topology import Topology
from millstream.views.answers import Instance
from millstream.views.catalogue import ViewStore
from millstream.views.instance import announcements
from millstream.views.instance.copies import Copy
from millstream.views.instance.files import DirectoryLock
from millstream.views.instance.layout import Layout, look_up
from millstream.views.instance.members import Members
from millstream.views.instance.reading import Reading

log = logging.getLogger("millstream.views")

_LOOK_SECONDS = 1.0
_TOPICS_SECONDS = 10.0
_CLOSE_SECONDS = 60.0


class ViewServer:
    """Reads changelogs, keeps touch with other instances, and looks after both.

    Args:
        topology: the application's topology.
        config: the application's configuration.
        stores: the stores that can be asked.
        instance: this instance.
        directory: where the views are.
        alone: this instance has copies of everything, and knows of no others.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        stores: Iterable[ViewStore],
        instance: Instance,
        directory: Path,
        *,
        alone: bool = False,
    ) -> None:
        self._is_alone = alone
        self._stores = tuple(stores)
        self._directory = directory
        self._config = config
        self.reading = Reading(topology, config, directory)
        self.members = Members(config, instance, self.reading, alone=alone)
        #: Topics and tasks; None as long as topics are missing.
        self.layout: Layout | None = None
        #: Why nothing can be asked, before there is a layout.
        self.waiting_for = "the broker has not answered yet"
        self._failure: BaseException | None = None
        self._lock = DirectoryLock(directory)
        self._admin = Admin(config, timeout=timedelta(seconds=10))
        self._stop = Event()
        self._threads: list[Thread] = []
        self._begin("millstream-views", self._look_after)

    def close(self) -> None:
        """End the threads, with clean checkpoints."""
        self._stop.set()
        self.members.stop()
        self.reading.stop()
        self.reading.has_new.set()
        for thread in self._threads:
            thread.join(_CLOSE_SECONDS)
        self._admin.close()
        self._lock.release()

    def check(self) -> Layout:
        """The layout.

        Raises:
            StateStoreError: a thread has failed.
            NotReady: there is no layout yet.
        """
        if self._failure is not None:
            raise StateStoreError(
                "the views have stopped",
                detail=f"{type(self._failure).__name__}: {self._failure}",
                hint="see the log; start the instance again",
            ) from self._failure
        if self.layout is None:
            raise NotReady("the views are not ready", detail=self.waiting_for, hint="try again in a moment")
        return self.layout

    def look_now(self, copies: Iterable[Copy]) -> None:
        """Look up the ends of some copies' partitions, at once.

        Raises:
            KafkaError: no broker answers.
        """
        sources = {(copy.view.topic, number) for copy in copies for number in copy.progress}
        self._look(sources)

    # --- threads

    def _begin(self, name: str, run: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                run()
            except Exception as error:
                log.exception("%s failed: the views of this instance end", name)
                self._failure = error
                self.members.stop()  # so that others take over
                self.reading.stop()

        thread = Thread(target=guarded, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _look_after(self) -> None:
        layout = self._wait_for_topics()
        if layout is None:
            return
        self._begin("millstream-views-reading", lambda: self.reading.run(layout))
        self._begin("millstream-views-members", lambda: self.members.run(layout))
        self.layout = layout
        looked = time.monotonic()
        while not self._stop.is_set() and self._failure is None:
            self.reading.has_new.wait(_LOOK_SECONDS)
            self.reading.has_new.clear()
            try:
                self._look(set(self.reading.feeds))
                if time.monotonic() - looked > _TOPICS_SECONDS:
                    looked = time.monotonic()
                    self._look_at_topics()
            except KafkaError as error:
                log.debug("views: %s", error)
                self._stop.wait(_LOOK_SECONDS)

    def _wait_for_topics(self) -> Layout | None:
        while not self._stop.is_set():
            try:
                found = look_up(self._stores, self._admin)
                if isinstance(found, Layout):
                    if not self._is_alone:
                        self._admin.create_topics([announcements.announcements_topic(self._config.application_id)])
                    return found
                self.waiting_for = f"topics are missing: {', '.join(found)}; the application makes them when it starts"
            except KafkaError as error:
                self.waiting_for = str(error)
                log.debug("views: %s", error)
            self._stop.wait(_LOOK_SECONDS)
        return None

    def _look(self, sources: set[tuple[str, int]]) -> None:
        now = time.monotonic()
        for source, end in self._admin.end_offsets(sources, committed=True).items():
            for copy in self.reading.feeds.get(source, ()):
                copy.look(source[1], end, now)

    def _look_at_topics(self) -> None:
        if not self._is_alone:  # a reset deletes it
            self._admin.ensure_topic(announcements.announcements_topic(self._config.application_id))
        found = look_up(self._stores, self._admin)
        if isinstance(found, Layout) and found != self.layout:
            self.layout = found
            self.members.change(found)
            self.reading.change(found)
