"""`KafkaStreams`: an application from start to close."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.config import StreamsConfig
from millstream.errors import CheckpointDamaged, FencedError, MillstreamError, NotReady, StreamsError
from millstream.kafka.embedded import with_broker
from millstream.server.guard import Application, Surrounding
from millstream.server.settings import ServerSettings
from millstream.spark.driver.metrics import MetricsServer
from millstream.spark.driver.ownership import Ownership
from millstream.spark.driver.setting_aside import SetAside
from millstream.spark.driver.statistics import Statistics
from millstream.spark.failures import is_marked, of_spark, story_of
from millstream.spark.launch import Launched, ask_for_ownership, launch
from millstream.spark.life import AFTER, NOT_ASKED, State, StateListener, UncaughtAction, UncaughtExceptionHandler
from millstream.spark.startup import preflight
from millstream.spark.startup.log_file import append, log_file_of
from millstream.spark.startup.session import spark_session
from millstream.spark.startup.signals import StopSignals, say
from millstream.spark.state.checkpoint import Checkpoint, checkpoint_location
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


_POLL_SECONDS = 0.05
#: How long `close` waits for the running batch.
_CLOSE_SECONDS = 60.0
#: How often the query is started again by itself without a batch in between.
_RESTARTS = 3
#: How long Kafka may refuse commits of a copy that it says is the owner: a former one may still try.
_FENCED_SECONDS = 120.0
#: What Spark says to a query that finds entries of another one in its log.
_CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"


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
        self._state = State.CREATED
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._listeners: list[StateListener] = []
        self._handler: UncaughtExceptionHandler = lambda error: UncaughtAction.SHUTDOWN_CLIENT
        self._launched: Launched | None = None
        self._query: StreamingQuery | None = None
        self._ownership: Ownership | None = None
        #: How many batches were done when Kafka first refused a commit of this copy, and when that was.
        self._fenced: tuple[float, float] | None = None
        #: How a lane found the checkpoint damaged: how many batches were done by then, and what it said.
        self._damage: tuple[float, str, str | None] | None = None
        self._failure: MillstreamError | None = None
        self._watcher: threading.Thread | None = None
        self._once = False
        self._closing = False
        self._restarts = 0
        self._batches_before = 0.0
        self._metrics: MetricsServer | None = None
        self._views: Views | None = None
        #: The same with their HTTP, if there is any.
        self._served: ServedViews | None = None
        self._signals = StopSignals(signal.SIGTERM)
        #: What the batches so far reported.
        self.statistics = Statistics()

    # --- before start

    def add_state_listener(self, listener: StateListener) -> None:
        """Have `listener(new, old)` called at every change of state."""
        self._listeners.append(listener)

    def set_uncaught_exception_handler(self, handler: UncaughtExceptionHandler) -> None:
        """Decide what happens when a batch fails for good; by default the application stops."""
        self._handler = handler

    # --- life

    @property
    def state(self) -> State:
        """Where it is in its life."""
        return self._state

    def start(self, *, once: bool = False) -> None:
        """Start; `once` processes what is there and stops.

        Raises:
            MillstreamError: the broker, a topic or the checkpoint does not allow it.
        """
        with self._lock:
            if self._state is not State.CREATED:
                raise StreamsError(f"the application was started before; it is {self._state.value}")
            self._move(State.REBALANCING)
        self._once = once
        try:
            preflight.check(self.topology, self._config)
            self._config = config = with_broker(self._config)
            self._ownership = ask_for_ownership(config)  # while Spark starts
            self._spark = self._spark or spark_session(config)
            if config.metrics_port is not None:
                self._metrics = MetricsServer(
                    config.application_id, self.statistics, config.metrics_port, config.metrics_host
                )
            if self._ownership.settle():
                self._launch()
            if self._server is not None:
                with self._lock:
                    self._views = self._views or self._start_views()
        except BaseException:
            self._move(State.PENDING_ERROR)
            self._clean()
            self._move(State.ERROR)
            raise
        self._watcher = threading.Thread(target=self._watch, name="millstream-watcher", daemon=True)
        self._watcher.start()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until it is stopped, interrupted or failed; False if the timeout comes first.

        Raises:
            MillstreamError: it failed.
        """
        deadline = None if timeout is None else time.monotonic() + timeout.total_seconds()
        with self._changed:
            while self._state not in (State.NOT_RUNNING, State.ERROR):
                left = 0.5 if deadline is None else min(0.5, deadline - time.monotonic())
                if left <= 0:
                    return False
                self._changed.wait(left)
        if self._failure is not None:
            raise self._failure
        return True

    def pause(self) -> None:
        """Take no new records; the running batch is finished."""
        if self._launched is not None:
            self._launched.control.pause()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._launched is not None:
            self._launched.control.resume()

    @property
    def is_paused(self) -> bool:
        """Whether it is paused."""
        return self._launched is not None and self._launched.control.is_paused

    def close(self, timeout: timedelta = timedelta(seconds=_CLOSE_SECONDS)) -> bool:
        """Finish the running batch and stop. Safe to call again.

        Args:
            timeout: how long to wait for the batch. One that is given up is done again at the next start.

        Returns:
            Whether the batch was finished.
        """
        finished = True
        with self._lock:
            if self._state in (State.NOT_RUNNING, State.PENDING_SHUTDOWN):
                return finished
            self._closing = True
            failed = self._state in (State.ERROR, State.PENDING_ERROR)
            if self._state is State.CREATED or failed:
                if not failed:
                    self._move(State.PENDING_SHUTDOWN)
                    self._move(State.NOT_RUNNING)
                return finished
            self._move(State.PENDING_SHUTDOWN)
        query, launched = self._query, self._launched
        if query is not None and launched is not None:
            self.pause()
            deadline = time.monotonic() + timeout.total_seconds()
            with contextlib.suppress(Exception):  # Spark may be gone already
                while query.isActive and not launched.control.rests and time.monotonic() < deadline:
                    time.sleep(_POLL_SECONDS)
                finished = not query.isActive or launched.control.rests
                query.stop()
        self._clean()
        self._move(State.NOT_RUNNING)
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
            say("stopping after this batch ...")
        self._signals.stopping()
        try:
            self.close()
        finally:
            self._signals.over()

    # --- looking

    def metrics(self) -> dict[str, float]:
        """Numbers of the whole application, by Kafka Streams' names where there are such."""
        if self._launched is not None:
            self.statistics.set_lag(self._launched.control.lag)
        return self.statistics.totals()

    def tasks(self) -> dict[str, dict[str, Any]]:
        """What each task last reported: its records, dropped ones, stream time, state and next offsets."""
        return self.statistics.tasks()

    def look(self) -> list[Seen]:
        """What was seen of the topology's nodes lately, for the console; lanes look for some seconds from now on."""
        return [] if self._launched is None else self._launched.look()

    def lanes(self) -> dict[int, list[str]]:
        """The names of the tasks in each lane, which is a process; none before they are assigned."""
        return {} if self._launched is None else self._launched.lanes

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
        return self._failure

    # --- asking stores

    @property
    def views(self) -> Views:
        """The views of this instance, started when they are first asked for.

        Raises:
            NotReady: the application is not running.
        """
        with self._lock:
            if self._state in NOT_ASKED:
                raise NotReady(
                    "stores can be asked while the application runs",
                    detail=f"it is {self._state.value}",
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

    def _launch(self) -> None:
        """Begin to process, as the owner of the application; from Kafka alone, if the checkpoint is damaged."""
        try:
            self._launch_from_checkpoint()
        except CheckpointDamaged as damage:
            self._rebuild(damage)

    def _rebuild(self, damage: CheckpointDamaged) -> None:
        """Set the checkpoint aside and begin from what Kafka has.

        Raises:
            CheckpointDamaged: that is not possible; the checkpoint is where it was.
        """
        application, location = self._config.application_id, checkpoint_location(self._config)
        aside = SetAside.move(location, self._config.spark)
        if aside is None:
            raise damage
        log.warning(
            "%s (%s): the checkpoint of '%s' is set aside as %s and rebuilt from Kafka",
            damage.primary, damage.detail, application, aside.path,
        )  # fmt: skip
        try:
            self._own_anew()
            self._launch_from_checkpoint()
        except MillstreamError as error:
            if not aside.put_back():
                raise
            detail = f"{damage.detail}. It cannot be rebuilt from Kafka: {error.primary} ({error.detail})"
            raise CheckpointDamaged(damage.primary, detail=detail, hint=damage.hint) from error

    def _own_anew(self) -> None:
        """Be the owner, with the id of the checkpoint that is there now, or of the one to be made."""
        if self._ownership is not None:
            self._ownership.close()
        self._ownership = ask_for_ownership(self._config)
        self._wait_for_ownership()

    def _launch_from_checkpoint(self) -> None:
        if self._spark is None or self._ownership is None:
            raise AssertionError("not started")
        known = Checkpoint(checkpoint_location(self._config), self._config.spark).known_id()
        if known is not None and known != self._ownership.checkpoint:  # another copy made it in the meantime
            self._own_anew()
        before, self._launched = self._launched, None
        if before is not None:
            before.remove()
        self._launched = launch(self.topology, self._config, self._spark, self._ownership)
        self._begin()

    def _wait_for_ownership(self) -> bool:
        """Stand by until this copy is the owner; False if it was closed before."""
        while self._ownership is not None and not self._closing:
            if self._ownership.wait(_POLL_SECONDS * 10):
                return True
        return False

    def _begin(self) -> None:
        if self._launched is None or self._ownership is None:
            raise AssertionError("not launched")
        self._query = query = self._launched.start_query(self.statistics, self._ownership, once=self._once)
        if self._state in (State.PENDING_SHUTDOWN, State.NOT_RUNNING):  # closed while it was started again
            query.stop()
            self._clean()
        self._move(State.RUNNING)

    def _watch(self) -> None:
        """Wait for the end of the query, and decide what that means."""
        try:
            self._follow()
        except MillstreamError as error:
            log.error("the application failed: %s", error)
            self._fail(error)
        except Exception as error:
            if self._state not in (State.PENDING_SHUTDOWN, State.NOT_RUNNING):
                gone = StreamsError(
                    "Spark does not answer any more",
                    detail=f"{type(error).__name__}: {error}",
                    hint="its JVM ended, see its log; the application can be started again where it was",
                )
                gone.__cause__ = error
                self._fail(gone)

    def _follow(self) -> None:
        if self._launched is None:
            if not self._wait_for_ownership():
                return
            self._launch()
        while True:
            query, launched = self._query, self._launched
            if query is None or launched is None:
                return
            changed = False
            while query.isActive and not changed:
                time.sleep(_POLL_SECONDS)
                launched.logs.show()
                changed = launched.control.has_other_topics
            launched.logs.show()  # before the error is told
            with self._lock:
                if self._state is State.PENDING_SHUTDOWN or self._state is State.NOT_RUNNING:
                    return
            if changed:
                self._plan_anew(query)
                continue
            exception = query.exception()
            if exception is None:  # it was to stop by itself, or Spark was stopped
                self._move(State.PENDING_SHUTDOWN)
                self._clean()
                self._move(State.NOT_RUNNING)
                return
            message = str(exception)
            file = log_file_of(launched.session)
            error = of_spark(message, file)
            if isinstance(error, FencedError) or _CONCURRENT in message:
                if not self._regain(error):
                    return
                continue
            if isinstance(error, CheckpointDamaged) and not self._closing and self._may_start_again():
                self._begin_after(error)
                continue
            if not is_marked(message) and self._may_start_again():
                # No error of the application's: one of Spark's processes was killed, for instance.
                log.warning("Spark's query ended and is started again: %s", error.detail)
                self._move(State.REBALANCING)
                self._begin()
                continue
            if file is None:
                log.error("the application failed: %s", error)
            else:  # whoever waits for it gets the rest
                append(file, f"'{self._config.application_id}' failed: {story_of(message)}")
                log.error("'%s' failed: %s", self._config.application_id, error.primary)
            self._move(State.PENDING_ERROR)
            if self._handler(error) is UncaughtAction.REPLACE_THREAD and not self._closing:
                self._move(State.REBALANCING)
                self._begin()
                continue
            self._fail(error)
            return

    def _regain(self, error: MillstreamError) -> bool:
        """Kafka has another owner, or had: go on when this copy is the owner again; False if it was closed before.

        Raises:
            MillstreamError: Kafka says that this copy is the owner, and takes no commits from it.
        """
        batches = self.statistics.totals()["commit-total"]
        if self._fenced is None or batches > self._fenced[0]:
            self._fenced = (batches, time.monotonic())
        elif time.monotonic() > self._fenced[1] + _FENCED_SECONDS:
            raise error
        log.warning("'%s': %s", self._config.application_id, error.primary)
        self._move(State.REBALANCING)
        if not self._wait_for_ownership():
            return False
        self._launch()
        return True

    def _begin_after(self, damage: CheckpointDamaged) -> None:
        """Begin again after a lane has found the checkpoint damaged.

        Not so that it is set aside at once: a former owner finds that, too, where another one goes on. If this copy is
        the owner and finds the same again, it is so.

        Raises:
            CheckpointDamaged: it cannot be rebuilt from Kafka.
        """
        self._move(State.REBALANCING)
        batches = self.statistics.totals()["commit-total"]
        again = self._damage == (batches, damage.primary, damage.detail)
        self._damage = (batches, damage.primary, damage.detail)
        if self._wait_for_ownership():
            if again:
                self._rebuild(damage)
            else:
                self._launch()

    def _plan_anew(self, query: StreamingQuery) -> None:
        """Between two batches, have tasks for the topics and partitions that there are now."""
        log.info("the input topics on the broker have changed: tasks are assigned anew")
        self._move(State.REBALANCING)
        query.stop()
        self._launch()

    def _may_start_again(self) -> bool:
        """Not for ever, if nothing gets done in between."""
        batches = self.statistics.totals()["commit-total"]
        if batches > self._batches_before:
            self._batches_before, self._restarts = batches, 0
        self._restarts += 1
        return self._restarts <= _RESTARTS

    def _fail(self, error: MillstreamError) -> None:
        self._failure = error
        self._move(State.PENDING_ERROR)
        self._clean()
        self._move(State.ERROR)

    def _clean(self) -> None:
        if self._metrics is not None:
            metrics, self._metrics = self._metrics, None
            metrics.close()
        views, self._views, served, self._served = self._views, None, self._served, None
        if served is not None:
            served.close()
        elif views is not None:
            views.close()
        if self._ownership is not None:
            self._ownership.close()
        if self._launched is not None:
            self._launched.remove()

    def _move(self, new: State) -> None:
        with self._changed:
            old = self._state
            if new is old or new not in AFTER[old]:
                return
            self._state = new
            self._changed.notify_all()
        for listener in self._listeners:
            listener(new, old)
