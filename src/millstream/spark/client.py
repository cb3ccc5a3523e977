"""`KafkaStreams`: an application from start to close."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError, NotReady, StreamsError
from millstream.hosting.hanging import HangingTransactions
from millstream.kafka.embedded import with_broker
from millstream.server.guard import Application, Surrounding
from millstream.server.settings import ServerSettings
from millstream.spark.driver.metrics import MetricsServer
from millstream.spark.life import NOT_ASKED, Life, State, StateListener, UncaughtAction, UncaughtExceptionHandler
from millstream.spark.numbers import Numbers
from millstream.spark.runtimes.choice import numbers_before, runtime_for
from millstream.spark.runtimes.runtime import Runtime
from millstream.spark.startup import preflight
from millstream.spark.startup.session import spark_session
from millstream.spark.startup.signals import STOPPING, StopSignals, say
from millstream.task.watching.watch import Seen
from millstream.topology.topology import Topology
from millstream.views.answers import KeyMetadata, PartitionLag, StoreMetadata
from millstream.views.api import Views
from millstream.views.queries import NO_REQUIREMENTS, Requirements
from millstream.views.readonly import View, read_only

if TYPE_CHECKING:
    from millstream.server.views.serving import ServedViews

__all__ = ["KafkaStreams", "State", "UncaughtAction"]

log = logging.getLogger("millstream.client")


#: How long `close` waits for what is under way.
_CLOSE_SECONDS = 60.0


class KafkaStreams:
    """Runs a topology on Spark.

        streams = KafkaStreams(builder.build(), StreamsConfig(application_id="orders", bootstrap_servers="broker:9092"))
        with streams:
            streams.wait()

    Args:
        topology: what to run.
        config: how and where.
        spark: an existing session; by default one is made, or the process's own is taken.
        server: answer questions to stores over HTTP, too, and ask other instances that do.
        around: puts something around that HTTP, such as the console (`millstream.console.application`).
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        spark: SparkSession | None = None,
        *,
        server: ServerSettings | None = None,
        around: Callable[[KafkaStreams, Application, Views], Surrounding] | None = None,
    ) -> None:
        self._around = around
        #: What it runs.
        self.topology = topology
        self._config = config
        self._spark = spark
        self._server = server
        self._life = Life()
        self._runtime: Runtime | None = None
        self._hanging: HangingTransactions | None = None
        self._watcher: threading.Thread | None = None
        self._metrics: MetricsServer | None = None
        self._views: Views | None = None
        #: The same with their HTTP, if there is any.
        self._served: ServedViews | None = None
        self._signals = StopSignals(signal.SIGTERM)

    # --- before start

    def add_state_listener(self, listener: StateListener) -> None:
        """Have `listener(new, old)` called at every change of state."""
        self._life.listeners.append(listener)

    def set_uncaught_exception_handler(self, handler: UncaughtExceptionHandler) -> None:
        """Decide what happens when processing fails for good; by default the application stops."""
        self._life.handler = handler

    # --- life

    @property
    def state(self) -> State:
        """Where it is in its life."""
        return self._life.state

    def start(self, *, once: bool = False) -> None:
        """Start; `once` processes what is there and stops.

        Raises:
            MillstreamError: the broker, a topic or the checkpoint does not allow it.
        """
        life = self._life
        with life.lock:
            if life.state is not State.CREATED:
                raise StreamsError(f"the application was started before; it is {life.state.value}")
            life.move(State.REBALANCING)
        try:
            preflight.check(self.topology, self._config)
            self._config = config = with_broker(self._config)
            self._runtime = runtime = runtime_for(self.topology, config, life)
            runtime.prepare()  # while Spark starts
            self._spark = spark_session(config, self._spark)
            if config.metrics_port is not None:
                self._metrics = MetricsServer(
                    config.application_id, runtime.statistics, config.metrics_port, config.metrics_host
                )
            runtime.begin(self._spark, once=once)
            self._hanging = HangingTransactions(self.topology, config)
            self._hanging.start()
            if self._server is not None:
                with life.lock:
                    self._views = self._views or self._start_views()
        except BaseException:
            life.move(State.PENDING_ERROR)
            self._clean()
            life.move(State.ERROR)
            raise
        self._watcher = threading.Thread(target=self._watch, name="millstream-watcher", daemon=True)
        self._watcher.start()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until it is stopped, interrupted or failed; False if the timeout comes first.

        Raises:
            MillstreamError: it failed.
        """
        if not self._life.wait(None if timeout is None else timeout.total_seconds()):
            return False
        if self._life.failure is not None:
            raise self._life.failure
        return True

    def pause(self) -> None:
        """Take no new records; what is under way is finished."""
        if self._runtime is not None:
            self._runtime.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._runtime is not None:
            self._runtime.resume()

    @property
    def is_paused(self) -> bool:
        """Whether it is paused."""
        return self._runtime is not None and self._runtime.is_paused

    def close(self, timeout: timedelta = timedelta(seconds=_CLOSE_SECONDS)) -> bool:
        """Finish what is under way and stop. Safe to call again.

        Args:
            timeout: how long to wait for it. What is given up is done again at the next start.

        Returns:
            Whether it was finished.
        """
        life, finished = self._life, True
        with life.lock:
            if life.is_ending:
                return finished
            life.is_closing = True
            failed = life.state in (State.ERROR, State.PENDING_ERROR)
            if life.state is State.CREATED or failed:
                if not failed:
                    life.move(State.PENDING_SHUTDOWN)
                    life.move(State.NOT_RUNNING)
                return finished
            life.move(State.PENDING_SHUTDOWN)
        if self._runtime is not None:
            finished = self._runtime.finish(timeout.total_seconds())
        self._clean()
        life.move(State.NOT_RUNNING)
        return finished

    def __enter__(self) -> Self:
        self._signals.starting()
        try:
            self.start()
            self._signals.running(self.close)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                say("stopping")
            self.close()
            self._signals.over()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is KeyboardInterrupt:
            say(STOPPING)
        self._signals.stopping()
        try:
            self.close()
        finally:
            self._signals.over()

    # --- looking

    @property
    def statistics(self) -> Numbers:
        """What was counted so far."""
        return self._running.statistics

    def metrics(self) -> dict[str, float]:
        """Numbers of the whole application, by Kafka Streams' names where there are such; zeros before the start."""
        numbers = numbers_before(self._config) if self._runtime is None else self._runtime.statistics
        return numbers.totals()

    def tasks(self) -> dict[str, dict[str, Any]]:
        """What each task last reported: its records, dropped ones, stream time, state and next offsets."""
        return {} if self._runtime is None else self._runtime.statistics.tasks()

    def look(self) -> list[Seen]:
        """What was seen of the topology's nodes lately, for the console; lanes look for some seconds from now on."""
        return [] if self._runtime is None else self._runtime.look()

    def lanes(self) -> dict[int, list[str]]:
        """The names of the tasks in each lane, which is a process; none before they are assigned."""
        return {} if self._runtime is None else self._runtime.lanes()

    @property
    def config(self) -> StreamsConfig:
        """How and where it runs; once it is started, with the address of the broker that it has found."""
        return self._config

    @property
    def metrics_port(self) -> int | None:
        """Where Prometheus can ask for the metrics; None if they are not served."""
        return None if self._metrics is None else self._metrics.port

    @property
    def failure(self) -> MillstreamError | None:
        """Why it is in state ERROR."""
        return self._life.failure

    # --- asking stores

    @property
    def views(self) -> Views:
        """The views of this instance, started when they are first asked for.

        Raises:
            NotReady: the application is not running.
        """
        with self._life.lock:
            if self.state in NOT_ASKED:
                raise NotReady(
                    "stores can be asked while the application runs",
                    detail=f"it is {self.state.value}",
                    hint="start() it first",
                )
            if self._views is None:
                self._views = self._start_views()
            return self._views

    @property
    def url(self) -> str | None:
        """Where its stores are asked over HTTP; None if they are not."""
        return None if self._served is None else self._served.url

    def _start_views(self) -> Views:
        if self._server is None:
            views = Views(self.topology, self._config)
            views.start()
            return views
        from millstream.server.views.serving import ServedViews  # an HTTP server, which few applications need

        around = None if self._around is None else partial(self._around, self)
        self._served = ServedViews(self.topology, self._config, self._server, around)
        self._served.start()
        return self._served.views

    @overload
    def store(self, name: str, requirements: Requirements = ..., *, timeout: timedelta = ...) -> Any: ...

    @overload
    def store(
        self, name: str, requirements: Requirements = ..., *, kind: type[View], timeout: timedelta = ...
    ) -> View: ...

    def store(
        self,
        name: str,
        requirements: Requirements = NO_REQUIREMENTS,
        *,
        kind: type[Any] | None = None,
        timeout: timedelta = timedelta(seconds=30),
    ) -> Any:
        """A store to read from: what the application has committed, from whichever instance has it.

            counts = streams.store("counts")
            counts.get("alice")

        Args:
            name: of the store.
            requirements: what answers must fulfil.
            kind: the view's class, such as `ReadOnlyKeyValueView`, for who wants to have types checked.
            timeout: how long to wait until the store can be asked.

        Raises:
            UnknownStore: there is no such store, or it has no changelog.
            NotReady: it cannot be asked yet.
        """
        views = self.views
        views.wait_until_ready(name, timeout)
        return read_only(views, name, requirements, kind=kind)

    def query_metadata_for_key(self, store: str, key: Any) -> KeyMetadata:
        """Which instance has a key of a store, and which others have copies."""
        return self.views.metadata_for_key(store, key)

    def streams_metadata_for_store(self, store: str) -> list[StoreMetadata]:
        """Which instances have which partitions of a store."""
        return self.views.metadata_for_store(store)

    def all_local_store_partition_lags(self) -> dict[str, dict[int, PartitionLag]]:
        """How far the copies of this instance are behind, by store and partition."""
        return self.views.local_partition_lags()

    # --- inside

    def _watch(self) -> None:
        """Wait for the end of processing, and for what that means."""
        life = self._life
        try:
            by_itself = self._running.follow()
        except MillstreamError as error:
            log.error("the application failed: %s", error)
            self._fail(error)
        except Exception as error:
            if not life.is_ending:
                gone = StreamsError(
                    "Spark does not answer any more",
                    detail=f"{type(error).__name__}: {error}",
                    hint="its JVM ended, see its log; the application can be started again where it was",
                )
                gone.__cause__ = error
                self._fail(gone)
        else:
            if life.failure is not None:
                self._fail(life.failure)
            elif by_itself:
                life.move(State.PENDING_SHUTDOWN)
                self._clean()
                life.move(State.NOT_RUNNING)

    @property
    def _running(self) -> Runtime:
        if self._runtime is None:
            raise AssertionError("not started")
        return self._runtime

    def _fail(self, error: MillstreamError) -> None:
        self._life.failure = error
        self._life.move(State.PENDING_ERROR)
        self._clean()
        self._life.move(State.ERROR)

    def _clean(self) -> None:
        if self._hanging is not None:
            self._hanging.close()
        if self._metrics is not None:
            metrics, self._metrics = self._metrics, None
            metrics.close()
        views, self._views, served, self._served = self._views, None, self._served, None
        if served is not None:
            served.close()
        elif views is not None:
            views.close()
        if self._runtime is not None:
            self._runtime.end()
