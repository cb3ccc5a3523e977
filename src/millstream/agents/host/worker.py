"""An application on Spark, and beside it what it does without records."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from millstream.agents.declared import Declared
from millstream.agents.host.client import Client
from millstream.agents.jobs import Crontab, Timer
from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.embedded import with_broker
from millstream.kafka.topics import NewTopic
from millstream.server.guard import Application, Surrounding
from millstream.server.settings import ServerSettings
from millstream.spark.client import KafkaStreams, State
from millstream.views.api import Views

if TYPE_CHECKING:
    from millstream.agents.host.pages import Pages

log = logging.getLogger("millstream.agents")

_STARTING_SECONDS = 0.05


class Worker(Client):
    """Runs an application.

    Args:
        app: the application.
        config: its configuration, if it is not just what the application says.
        server: have its stores asked over HTTP, too.
        around: see `KafkaStreams`.
    """

    def __init__(
        self,
        app: Declared,
        config: StreamsConfig | None = None,
        *,
        server: ServerSettings | None = None,
        around: Callable[[KafkaStreams, Application, Views], Surrounding] | None = None,
    ) -> None:
        super().__init__(app, with_broker(config or app.conf.streams))
        self.streams = KafkaStreams(app.topology(), self.config, server=server, around=around)
        self._beside = Beside(app, self.streams)

    def start(self, *, once: bool = False) -> None:
        """Make the topics that are missing, and start; `once` processes what is there and stops."""
        self.prepare()
        self.streams.start(once=once)
        if not once:
            self.start_beside()

    def run(self) -> None:
        """Start, and go on until a signal or a failure."""
        self.prepare()
        try:
            with self.streams:
                self.start_beside()
                self.streams.wait()
        finally:
            self.close()

    def prepare(self) -> None:
        """Make the topics that are missing. After it, `streams` can be started."""
        make_topics(self.app, self.config)
        self.app.surroundings.running = self

    def start_beside(self) -> None:
        """Begin with tasks, timers, crontabs and pages."""
        self._beside.start()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until it is stopped or failed; False if the timeout comes first."""
        return self.streams.wait(timeout)

    def close(self) -> None:
        """Finish the running batch, and stop."""
        self._beside.close()
        self.streams.close()
        super().close()

    @property
    def url(self) -> str | None:
        """Where its pages are; None if there are none."""
        return self._beside.url

    # --- `Outside`

    def read(self, table: str, key: Any) -> Any:
        """See `Outside`."""
        return self.streams.store(table).get(key)

    def read_window(self, table: str, key: Any, start: int) -> Any:
        """See `Outside`."""
        return self.streams.store(table).fetch(key, start)

    def rows(self, table: str) -> list[tuple[Any, Any]]:
        """See `Outside`."""
        return list(self.streams.store(table).all())


def make_topics(app: Declared, config: StreamsConfig) -> None:
    """Make the topics that the application names and that are not there."""
    admin = Admin(config)
    try:
        there = admin.topics()
        partitions, copies = app.conf.topic_partitions, app.conf.topic_replication_factor
        for topic in {topic.names[0]: topic for topic in app.topics if len(topic.names) == 1}.values():
            if topic.name not in there:
                new = NewTopic(topic.name, topic.partitions or partitions, topic.config)
                admin.create_topics([new], replication_factor=topic.replicas or copies)
    finally:
        admin.close()


class Beside:
    """Tasks, timers, crontabs and pages: an event loop in a thread of its own."""

    def __init__(self, app: Declared, streams: KafkaStreams) -> None:
        self._app = app
        self._streams = streams
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pages: Pages | None = None

    @property
    def url(self) -> str | None:
        """Where pages are."""
        return None if self._pages is None else self._pages.url

    def start(self) -> None:
        """Begin; does nothing if there is nothing to do."""
        jobs = self._app.jobs
        if jobs.pages and self._app.conf.web_enabled:
            from millstream.agents.host.pages import Pages  # an HTTP server, which few applications need

            self._pages = Pages(self._app)
            self._pages.start()
        if jobs.tasks or jobs.repeated:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name="millstream-jobs", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Cancel what is under way."""
        if self._pages is not None:
            self._pages.close()
        if self._loop is not None and self._thread is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._cancel)
            self._thread.join()
            self._loop = self._thread = None

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(self._all())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    async def _all(self) -> None:
        while self._streams.state in (State.CREATED, State.REBALANCING):
            await asyncio.sleep(_STARTING_SECONDS)
        jobs = self._app.jobs
        once = [self._call(function) for function in jobs.tasks]
        await asyncio.gather(*once, *(self._repeat(job) for job in jobs.repeated))

    async def _repeat(self, job: Timer | Crontab) -> None:
        due = job.after(datetime.now(UTC))
        while True:
            await asyncio.sleep(max((due - datetime.now(UTC)).total_seconds(), 0))
            await self._call(job.function)
            # From where it was due, so that it does not drift; what was missed meanwhile is left out.
            while due <= datetime.now(UTC):
                due = job.after(due)

    async def _call(self, function: Callable[..., Any]) -> None:
        try:
            answer = function(self._app) if inspect.signature(function).parameters else function()
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            log.exception("%s failed; it is called again when it is due", getattr(function, "__name__", function))
