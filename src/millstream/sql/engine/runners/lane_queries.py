"""Persistent queries in lanes: one Spark job for all of them, shared with the other servers of a service."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError, StreamsError
from millstream.hosting.lanes.messages import Event, Failed, Figures, Look, Pause, Resume, Run, Stop, Stopped, Watched
from millstream.hosting.lanes.notes import slots_topic
from millstream.hosting.lanes.preparing import prepare
from millstream.hosting.transient.access import KafkaAccess
from millstream.hosting.transient.to_end import run_to_end
from millstream.kafka.admin import Admin
from millstream.kafka.errors import TopicMissing
from millstream.kafka.group_admin import GroupAdmin
from millstream.spark.lane_job.job import LaneJob
from millstream.spark.startup.preflight import check_java
from millstream.spark.startup.session import spark_session
from millstream.sql.engine.progress import InputOffsets, QueryError, QueryProgress
from millstream.sql.engine.queries import PersistentQuery, QueryState
from millstream.sql.engine.runners.applications import application_config
from millstream.sql.errors import SqlError, tell
from millstream.sql.processing_log import ProcessingLog
from millstream.sql.pull import StoredRows
from millstream.sql.pull.view_rows import ViewRows
from millstream.task.watching.watch import Seen
from millstream.views.api import Views

_LOG = logging.getLogger("millstream.sql")
_INTERNAL = ("-changelog", "-repartition", "-topic", "-views")
#: How long lanes may take to let a query go.
_STOP_SECONDS = 20.0
_LOOK_SECONDS = 1.0
#: Lanes are told again that somebody looks.
_LOOK_AGAIN_SECONDS = 1.0
_MOST_ERRORS = 10
_RATE_SECONDS = 30.0


@dataclass
class _Running:
    """A query, and what lanes have told of it."""

    query: PersistentQuery
    is_paused: bool = False
    #: It failed, and is not tried again.
    has_failed: bool = False
    errors: list[QueryError] = field(default_factory=list)
    views: Views | None = None
    #: By lane.
    figures: dict[int, Figures] = field(default_factory=dict)
    #: What was seen of its nodes, and when, by lane; and when somebody looked last.
    seen: dict[int, tuple[float, Seen]] = field(default_factory=dict)
    looked: float = 0.0
    #: How many records were processed by then, lately; seconds of a clock that only goes on.
    lately: deque[tuple[float, int]] = field(default_factory=deque)
    #: When some were processed last, in milliseconds.
    last: int | None = None

    @property
    def processed(self) -> int:
        return sum(lane.processed for lane in self.figures.values())

    def take(self, lane: int, figures: Figures) -> None:
        """A lane tells what it has done."""
        before, now = self.processed, time.monotonic()
        self.figures[lane] = figures
        if self.processed < before:  # a lane gave tasks away, or began anew
            self.lately.clear()
        elif self.processed > before:
            self.last = int(time.time() * 1000)
        self.lately.append((now, self.processed))
        while len(self.lately) > 1 and self.lately[1][0] <= now - _RATE_SECONDS:
            self.lately.popleft()

    @property
    def rate(self) -> float:
        """Records per second, lately: lanes tell nothing while nothing happens."""
        if not self.lately:
            return 0.0
        since, then = self.lately[0]
        return (self.processed - then) / max(time.monotonic() - since, 1.0)


class LaneQueries:
    """See `QueryRunner`. Spark is started with the first query, and not waited for: lanes take up what there is.

    Args:
        config: what all queries have in common: the brokers, Spark.
        log: what hears of records that cannot be read.
    """

    def __init__(self, config: StreamsConfig, log: ProcessingLog) -> None:
        self._config = replace(config, processing_guarantee="exactly_once_v2")
        self._log = log
        self._running: dict[str, _Running] = {}
        self._changed = threading.Condition()
        #: By query, the lanes that have not let it go yet.
        self._stopping: dict[str, set[int]] = {}
        self._job: LaneJob | None = None
        self._starting: threading.Thread | None = None
        self._failure: MillstreamError | None = None
        #: Where copies of stores are kept for pull queries; they are made anew by each process.
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    # --- queries

    def start(self, query: PersistentQuery) -> None:
        job = self._lanes()
        # A lane commits for all of its queries together.
        config = replace(application_config(self._config, query, self._log), processing_guarantee="exactly_once_v2")
        before = self._internal_topics(query)
        replaced = self._running.get(query.id)
        try:
            with contextlib.closing(Admin(config)) as admin:
                hosted = prepare(query.id, query.topology, config, admin)
            self._running[query.id] = _Running(query, is_paused=replaced is not None and replaced.is_paused)
            if replaced is not None:  # what comes from now on is for the new one
                self._let_go(Stop(query.id, for_good=False))
            job.order(Run(hosted))
            if replaced is not None and replaced.is_paused:
                job.order(Pause(query.id))
        except BaseException as error:
            if replaced is None:
                self._running.pop(query.id, None)
            else:
                self._running[query.id] = replaced
            try:
                self._delete(query, self._internal_topics(query) - before)
            except MillstreamError as failure:
                tell(error, f"internal topics of {query.id} may be left behind ({failure.primary})")
            raise
        if replaced is not None and replaced.views is not None:
            replaced.views.close()
        _LOG.info("query %s runs", query.id)

    def stop(self, query: PersistentQuery) -> None:
        running = self._running.pop(query.id, None)
        if running is not None and running.views is not None:
            running.views.close()
        self._let_go(Stop(query.id, for_good=True))
        try:
            self._delete(query, self._internal_topics(query))
        except MillstreamError as error:
            tell(error, f"query {query.id} is stopped; its internal topics are still there")
            raise
        _LOG.info("query %s ended", query.id)

    def pause(self, query: PersistentQuery) -> None:
        self._known(query).is_paused = True
        self._lanes().order(Pause(query.id))

    def resume(self, query: PersistentQuery) -> None:
        self._known(query).is_paused = False
        self._lanes().order(Resume(query.id))

    def state(self, query: PersistentQuery) -> QueryState:
        running = self._running.get(query.id)
        if running is None or running.has_failed or self._failure is not None:
            return QueryState.ERROR
        return QueryState.PAUSED if running.is_paused else QueryState.RUNNING

    def errors(self, query: PersistentQuery) -> list[QueryError]:
        running = self._running.get(query.id)
        return [] if running is None else list(running.errors)

    def rows(self, query: PersistentQuery, store: str) -> StoredRows:
        running = self._known(query)
        with self._changed:
            if running.views is None:
                running.views = self._new_views(query)
            views = running.views
        views.wait_until_ready(store)
        return ViewRows(views, store)

    def _new_views(self, query: PersistentQuery) -> Views:
        """Copies of a query's stores in this process: every server of a service answers for itself."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="millstream-views-")
        config = replace(application_config(self._config, query, self._log), state_dir=self._directory.name)
        views = Views(query.topology, config, alone=True)
        views.start()
        return views

    def run_to_end(self, query: PersistentQuery, is_enough: Callable[[], bool]) -> None:
        config = replace(
            application_config(self._config, query, self._log),
            statestore_cache_max_bytes=0,
            dsl_store="in_memory",
            state_dir=None,
        )
        run_to_end(query.topology, config, KafkaAccess(config), is_enough)

    def progress(self, query: PersistentQuery) -> QueryProgress:
        running = self._running.get(query.id)
        if running is None:
            return QueryProgress()
        with self._changed:
            lanes = running.figures.values()
            return QueryProgress(
                running.processed,
                sum(lane.dropped for lane in lanes),
                sum(sum(lane.lags.values()) for lane in lanes),
                running.rate,
                running.last,
            )

    def offsets(self, query: PersistentQuery) -> list[InputOffsets]:
        positions = {
            (topic, int(partition)): at
            for name, (at, _) in self.positions(query).items()
            for topic, _, partition in [name.rpartition("-")]
        }
        if not positions:
            return []
        with contextlib.closing(Admin(self._config)) as admin:
            starts = admin.begin_offsets(list(positions))
            ends = admin.end_offsets(list(positions), committed=True)
        return [InputOffsets(*at, starts[at], ends[at], positions[at]) for at in sorted(positions)]

    def figures(self) -> dict[str, dict[str, float]]:
        """What this server's lanes do for each query: tasks, records processed and dropped, and those that wait."""
        found: dict[str, dict[str, float]] = {}
        for query_id, running in tuple(self._running.items()):
            lanes = self._told(running)
            found[query_id] = {
                "tasks": sum(len(lane.tasks) for lane in lanes),
                "process-total": sum(lane.processed for lane in lanes),
                "dropped-records-total": sum(lane.dropped for lane in lanes),
                "records-lag": sum(sum(lane.lags.values()) for lane in lanes),
            }
        return found

    def positions(self, query: PersistentQuery) -> dict[str, tuple[int, int]]:
        """How far a query is in its inputs, and about how much it lacks, by `topic-partition`."""
        running = self._running.get(query.id)
        lanes = [] if running is None else self._told(running)
        return {name: (at, lane.lags.get(name, 0)) for lane in lanes for name, at in lane.positions.items()}

    def told(self) -> dict[str, dict[str, float]]:
        """Of each query, how many records are `processed`, and how far it is in its inputs, by `topic-partition`."""
        found: dict[str, dict[str, float]] = {}
        for query_id, running in tuple(self._running.items()):
            lanes = self._told(running)
            found[query_id] = {"processed": sum(lane.processed for lane in lanes)}
            for lane in lanes:
                found[query_id] |= lane.positions
        return found

    def tasks(self) -> dict[str, dict[int, tuple[tuple[str, ...], Mapping[str, float]]]]:
        """The tasks of each query in each lane of this server: those at work, and how much is there of the others."""
        return {
            query_id: {lane: (told.tasks, told.restoring) for lane, told in tuple(running.figures.items())}
            for query_id, running in tuple(self._running.items())
        }

    def look(self, query_id: str, seconds: float) -> list[Seen]:
        """What lanes have seen of a query's nodes lately; they look for so long from now on."""
        running, job = self._running.get(query_id), self._job
        if running is None or job is None:
            return []
        now, here = time.monotonic(), self.lanes
        if now > running.looked + _LOOK_AGAIN_SECONDS:  # several may look
            running.looked = now
            job.order(Look(query_id, seconds))
        return [seen for lane, (at, seen) in tuple(running.seen.items()) if lane in here and now < at + seconds]

    def _told(self, running: _Running) -> list[Figures]:
        """The last that each lane told which is still there."""
        here = self.lanes
        return [figures for lane, figures in tuple(running.figures.items()) if lane in here]

    @property
    def lanes(self) -> set[int]:
        """The lanes of this server that are there now."""
        return set() if self._job is None else set(self._job.lanes)

    def places(self) -> dict[int, tuple[str, int]]:
        """The host and the process of each lane of this server."""
        return {} if self._job is None else {lane: (at.host, at.process) for lane, at in self._job.lanes.items()}

    # --- life

    def warm_up(self) -> None:
        """Start Spark before the first query comes."""
        self._lanes()

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until a query failed, or the timeout comes first: then it answers False.

        Raises:
            MillstreamError: one failed.
        """
        seconds = None if timeout is None else timeout.total_seconds()
        with self._changed:
            self._changed.wait_for(lambda: self.failure is not None or not self._running, seconds)
        if self.failure is not None:
            raise self.failure
        return not self._running

    @property
    def failure(self) -> MillstreamError | None:
        """Why a query failed, if one did."""
        if self._failure is not None:
            return self._failure
        for query_id, running in self._running.items():
            if running.has_failed:
                told = running.errors[-1].error_message if running.errors else None
                return StreamsError(f"query {query_id} failed", detail=told)
        return None

    def close(self) -> None:
        """Have lanes leave: others of the service go on, or the same queries when they are started again."""
        if self._starting is not None:
            self._starting.join()
        if self._job is not None:
            self._job.close()
        for running in self._running.values():
            if running.views is not None:
                running.views.close()
        if self._directory is not None:
            self._directory.cleanup()
        with self._changed:
            self._running.clear()
            self._changed.notify_all()

    # --- inside

    def _lanes(self) -> LaneJob:
        """The job; Spark is started in the background."""
        if self._job is None:
            check_java()
            service = self._config.application_id
            with contextlib.closing(Admin(self._config)) as admin:
                admin.ensure_topic(slots_topic(service))
            self._job = LaneJob(self._config, service, self._hear, self._spark_is_gone)
            self._starting = threading.Thread(target=self._start_spark, args=(self._job,), name="spark", daemon=True)
            self._starting.start()
        return self._job

    def _start_spark(self, job: LaneJob) -> None:
        try:
            job.start(spark_session(self._config))
        except Exception as error:
            failure = (
                error if isinstance(error, MillstreamError) else StreamsError("Spark does not start", detail=str(error))
            )
            _LOG.error("%s", failure)
            self._fail(failure)

    def _spark_is_gone(self, error: Exception) -> None:
        hint = "start this server again: its queries go on where they were; other servers go on with them meanwhile"
        self._fail(StreamsError("Spark is gone, and its lanes with it", detail=str(error), hint=hint))

    def _fail(self, failure: MillstreamError) -> None:
        with self._changed:
            self._failure = failure
            self._changed.notify_all()

    def _let_go(self, order: Stop) -> None:
        """Have lanes run a query no more, and wait until they do not."""
        job = self._lanes()
        with self._changed:
            waiting = self._stopping[order.query] = set(job.lanes)
            job.order(order)
            end = time.monotonic() + _STOP_SECONDS
            while waiting.intersection(job.lanes):  # one that dies has let it go
                if time.monotonic() > end:
                    _LOG.warning("query %s: lanes do not say that they have let it go", order.query)
                    break
                self._changed.wait(_LOOK_SECONDS)
            del self._stopping[order.query]

    def _known(self, query: PersistentQuery) -> _Running:
        running = self._running.get(query.id)
        if running is None:
            raise SqlError(f"query {query.id} does not run")
        return running

    def _hear(self, lane: int, event: Event) -> None:
        with self._changed:
            running = self._running.get(event.query)
            match event:
                case Stopped(query_id):
                    self._stopping.get(query_id, set()).discard(lane)
                case Failed(query_id, error, is_final) if running is not None:
                    told = QueryError(int(time.time() * 1000), error)
                    running.errors = [*running.errors, told][-_MOST_ERRORS:]
                    running.has_failed |= is_final
                    if is_final:
                        _LOG.error("query %s is stopped: %s", query_id, error)
                case Figures() if running is not None:
                    running.take(lane, event)
                case Watched(_, seen) if running is not None:
                    running.seen[lane] = (time.monotonic(), seen)
            self._changed.notify_all()

    def _internal_topics(self, query: PersistentQuery) -> set[str]:
        prefix = f"{query.application_id}-"
        with contextlib.closing(GroupAdmin(application_config(self._config, query, self._log))) as admin:
            return {name for name in admin.topics() if name.startswith(prefix) and name.endswith(_INTERNAL)}

    def _delete(self, query: PersistentQuery, topics: set[str]) -> None:
        if topics:
            with contextlib.closing(GroupAdmin(application_config(self._config, query, self._log))) as admin:
                for name in sorted(topics):
                    with contextlib.suppress(TopicMissing):  # another server of the service was quicker
                        admin.delete_topics([name])
