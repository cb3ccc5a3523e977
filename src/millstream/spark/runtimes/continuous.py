"""Continuously: lanes that read, process and commit on their own, as one Spark job that does not end."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from concurrent.futures import Future
from datetime import timedelta

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.hosting.lanes.applications import prepare_application
from millstream.hosting.lanes.messages import Event, Failed, Figures, Look, Looked, Pause, Resume, Run, Watched
from millstream.hosting.lanes.query import HostedQuery
from millstream.kafka.admin import Admin
from millstream.kafka.errors import BrokerUnavailable
from millstream.spark.failures import with_story
from millstream.spark.lane_job.job import LaneJob
from millstream.spark.launch import external_topics
from millstream.spark.life import Life, State
from millstream.spark.runtimes.catching_up import CatchingUp
from millstream.spark.runtimes.lane_statistics import LaneStatistics
from millstream.spark.startup.cluster import check_executors, wait_for_executors
from millstream.spark.startup.log_file import append, log_file_of
from millstream.spark.startup.masters import is_here
from millstream.task.watching.watch import Seen
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.client")

_POLL_SECONDS = 0.1
#: How long a broker may take to answer at the start, how long is waited before it is asked again, and how often that is
#: told.
_ANSWER_TIME = timedelta(seconds=10)
_AWAY_SECONDS = 0.5
_SAY_SECONDS = 30.0
#: How often it is looked whether topics have come, gone or grown.
_TOPICS_SECONDS = 5.0
#: How long lanes look at the work of nodes, once somebody wants to see it, and how often they are told again.
_LOOK_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 1.0


class ContinuousRuntime:
    """See `Runtime`.

    Args:
        topology: what to run.
        config: how and where.
        life: where the application is in its life.
    """

    def __init__(self, topology: Topology, config: StreamsConfig, life: Life) -> None:
        self._topology = topology
        self._config = config
        self._life = life
        self.statistics = LaneStatistics()
        self._prepared: Future[HostedQuery] = Future()
        self._query: HostedQuery | None = None
        self._session: SparkSession | None = None
        self._job: LaneJob | None = None
        self._until: CatchingUp | None = None
        self._news = threading.Event()
        self._failed: Failed | None = None
        self._gone: Exception | None = None
        self._paused = False
        self._ending = threading.Event()
        self._looked = self._topics_seen = time.monotonic()
        #: What was seen of nodes, and when, by lane.
        self._seen: dict[int, tuple[float, Seen]] = {}

    # --- life

    def prepare(self) -> None:
        # Not one that the end of the process would wait for: a broker may be away for hours.
        threading.Thread(target=self._prepare, name="preparing", daemon=True).start()

    def begin(self, session: SparkSession, *, once: bool) -> None:
        self._session = session
        self._query = query = self._when_prepared()
        if query is None:
            return
        if not is_here(str(session.sparkContext.master)):
            wait_for_executors(session)
            check_executors(session)
        if once:
            self._until = CatchingUp(query)
        self._job = LaneJob(
            self._config,
            self._config.application_id,
            self._hear,
            self._spark_is_gone,
            most=min(query.slots, max(1, len(query.tasks))),
            is_application=True,
        )
        self._job.order(Run(query))
        self._job.start(session)

    def follow(self) -> bool:
        while not self._ending.is_set():
            self._news.wait(_POLL_SECONDS)
            self._news.clear()
            if self._ending.is_set() or self._life.is_ending:
                return False
            if self._gone is not None:
                raise self._gone
            if self._failed is not None:
                failed, self._failed = self._failed, None
                if not self._goes_on_after(failed):
                    return False
            self._settle()
            if self._job is not None:
                self._job.end_silent()
            self._look_at_topics()
            if self._until is not None and self._until.is_done(self.statistics.lanes().values()):
                return True
        return False

    def finish(self, seconds: float) -> bool:
        return self._job is None or self._job.close(seconds)

    def end(self) -> None:
        self._ending.set()
        self._news.set()
        if self._job is not None:
            self._job.close()

    def pause(self) -> None:
        self._order(Pause(self._config.application_id), paused=True)

    def resume(self) -> None:
        self._order(Resume(self._config.application_id), paused=False)

    @property
    def is_paused(self) -> bool:
        return self._paused

    # --- looking

    def look(self) -> list[Seen]:
        job, now = self._job, time.monotonic()
        if job is None:
            return []
        if now > self._looked + _LOOK_AGAIN_SECONDS:  # several may look
            self._looked = now
            job.order(Look(self._config.application_id, _LOOK_SECONDS))
        here = job.lanes
        return [seen for lane, (at, seen) in tuple(self._seen.items()) if lane in here and now < at + _LOOK_SECONDS]

    def lanes(self) -> dict[int, list[str]]:
        return {lane: sorted(told.tasks) for lane, told in self.statistics.lanes().items()}

    # --- inside

    def _prepare(self) -> None:
        """Have all that the application needs in Kafka, as soon as there is a broker."""
        said = -_SAY_SECONDS
        while not self._ending.is_set():
            try:
                with contextlib.closing(Admin(self._config, timeout=_ANSWER_TIME)) as asking:
                    asking.topics()
                with contextlib.closing(Admin(self._config)) as admin:
                    external_topics(self._topology, self._config, admin)
                    self._prepared.set_result(prepare_application(self._topology, self._config, admin))
                return
            except BrokerUnavailable as error:
                if time.monotonic() > said + _SAY_SECONDS:
                    said = time.monotonic()
                    log.warning("waiting: %s", error)
            except BaseException as error:
                self._prepared.set_exception(error)
                return
            self._ending.wait(_AWAY_SECONDS)

    def _when_prepared(self) -> HostedQuery | None:
        """The application, once it is ready; None if it was closed before."""
        while not self._ending.is_set():
            with contextlib.suppress(TimeoutError):
                return self._prepared.result(_POLL_SECONDS)
        return None

    def _order(self, order: Pause | Resume, *, paused: bool) -> None:
        self._paused = paused
        if self._job is not None:
            self._job.order(order)

    def _hear(self, lane: int, event: Event) -> None:
        match event:
            case Figures():
                self.statistics.take(lane, event)
            case Looked(_, keys):
                self.statistics.judge(keys)
            case Watched(_, seen):
                self._seen[lane] = (time.monotonic(), seen)
            case Failed(is_final=True):
                self._failed = event
        self._news.set()

    def _spark_is_gone(self, error: Exception) -> None:
        self._gone = error
        self._news.set()

    def _settle(self) -> None:
        """Tell where it is in its life: it runs when every lane has its tasks."""
        job = self._job
        if job is None:
            return
        here, told = job.lanes, self.statistics.lanes()
        for lane in told.keys() - here.keys():
            self.statistics.gone(lane)
        settled = bool(here) and all(lane in told and told[lane].is_settled for lane in here)
        if settled:
            self._life.move(State.RUNNING)
        elif self._life.state is State.RUNNING:
            self._life.move(State.REBALANCING)

    def _goes_on_after(self, failed: Failed) -> bool:
        if failed.parts is None or self._session is None or self._job is None or self._query is None:
            raise AssertionError("it was started")
        file = log_file_of(self._session)
        error = with_story(failed.parts, file)
        application = self._config.application_id
        if file is None:
            log.error("the application failed: %s", error)
        else:  # whoever waits for it gets the rest
            append(file, f"'{application}' failed: {with_story(failed.parts, None)}")
            log.error("'%s' failed: %s", application, error.primary)
        if not self._life.goes_on_after(error):
            return False
        self.statistics.begin_anew()
        self._job.order(Run(self._query))
        return True

    def _look_at_topics(self) -> None:
        """Now and then: have tasks for the topics and partitions that there are now."""
        now, query, job = time.monotonic(), self._query, self._job
        if now < self._topics_seen + _TOPICS_SECONDS or query is None or job is None:
            return
        self._topics_seen = now
        with contextlib.closing(Admin(self._config)) as admin:
            try:
                known = admin.topics()
                inputs = {topic for topic, _ in query.with_topics(known).external_inputs}
                ids = admin.topic_ids(inputs)
            except MillstreamError as error:  # the broker is away, or a topic is: lanes say so
                log.debug("%s", error)
                return
            before = {topic: (query.counts.get(topic), query.input_ids.get(topic)) for topic in query.input_ids}
            if before == {topic: (known[topic], ids[topic]) for topic in inputs if topic in ids}:
                return
            if (before.keys() - ids.keys()) & query.named_inputs:  # gone for now: it may come back
                return
            log.info("the input topics on the broker have changed: tasks are assigned anew")
            self._life.move(State.REBALANCING)
            try:
                self._query = prepare_application(self._topology, self._config, admin)
            except BrokerUnavailable as error:  # it is looked again
                log.debug("%s", error)
                return
        self.statistics.begin_anew()
        job.order(Run(self._query))
