"""Batch after batch: one Structured Streaming query, from launch to launch."""

from __future__ import annotations

import contextlib
import logging
import time

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.config import StreamsConfig
from millstream.errors import CheckpointDamaged, FencedError, MillstreamError
from millstream.spark.driver.ownership import Ownership
from millstream.spark.driver.setting_aside import SetAside
from millstream.spark.driver.statistics import Statistics
from millstream.spark.failures import is_marked, of_spark, story_of
from millstream.spark.launch import Launched, ask_for_ownership, launch
from millstream.spark.life import Life, State
from millstream.spark.startup.log_file import append, log_file_of
from millstream.spark.state.checkpoint import Checkpoint, checkpoint_location
from millstream.task.watching.watch import Seen
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.client")

_POLL_SECONDS = 0.05
#: How often the query is started again by itself without a batch in between.
_RESTARTS = 3
#: How long Kafka may refuse commits of a copy that it says is the owner: a former one may still try.
_FENCED_SECONDS = 120.0
#: What Spark says to a query that finds entries of another one in its log.
_CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"


class BatchRuntime:
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
        self._session: SparkSession | None = None
        self._once = False
        #: What the batches so far reported.
        self.statistics = Statistics(self._lag)
        self._launched: Launched | None = None
        self._query: StreamingQuery | None = None
        self._ownership: Ownership | None = None
        #: How many batches were done when Kafka first refused a commit of this copy, and when that was.
        self._fenced: tuple[float, float] | None = None
        #: How a lane found the checkpoint damaged: how many batches were done by then, and what it said.
        self._damage: tuple[float, str, str | None] | None = None
        self._restarts = 0
        self._batches_before = 0.0

    # --- life

    def prepare(self) -> None:
        self._ownership = ask_for_ownership(self._config)

    def begin(self, session: SparkSession, *, once: bool) -> None:
        self._session, self._once = session, once
        if self._ownership is None:
            raise AssertionError("not prepared")
        if self._ownership.settle():
            self._launch()

    def finish(self, seconds: float) -> bool:
        finished, query, launched = True, self._query, self._launched
        if query is not None and launched is not None:
            self.pause()
            deadline = time.monotonic() + seconds
            with contextlib.suppress(Exception):  # Spark may be gone already
                while query.isActive and not launched.control.rests and time.monotonic() < deadline:
                    time.sleep(_POLL_SECONDS)
                finished = not query.isActive or launched.control.rests
                query.stop()
        return finished

    def end(self) -> None:
        if self._ownership is not None:
            self._ownership.close()
        if self._launched is not None:
            self._launched.remove()

    def pause(self) -> None:
        if self._launched is not None:
            self._launched.control.pause()

    def resume(self) -> None:
        if self._launched is not None:
            self._launched.control.resume()

    @property
    def is_paused(self) -> bool:
        return self._launched is not None and self._launched.control.is_paused

    # --- looking

    def look(self) -> list[Seen]:
        return [] if self._launched is None else self._launched.look()

    def lanes(self) -> dict[int, list[str]]:
        return {} if self._launched is None else self._launched.lanes

    def _lag(self) -> int:
        """How many records wait in the input topics."""
        return 0 if self._launched is None else self._launched.control.lag

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
        if self._session is None or self._ownership is None:
            raise AssertionError("not started")
        known = Checkpoint(checkpoint_location(self._config), self._config.spark).known_id()
        if known is not None and known != self._ownership.checkpoint:  # another copy made it in the meantime
            self._own_anew()
        before, self._launched = self._launched, None
        if before is not None:
            before.remove()
        self._launched = launch(self._topology, self._config, self._session, self._ownership)
        self._begin()

    def _wait_for_ownership(self) -> bool:
        """Stand by until this copy is the owner; False if it was closed before."""
        while self._ownership is not None and not self._life.is_closing:
            if self._ownership.wait(_POLL_SECONDS * 10):
                return True
        return False

    def _begin(self) -> None:
        if self._launched is None or self._ownership is None:
            raise AssertionError("not launched")
        self._query = query = self._launched.start_query(self.statistics, self._ownership, once=self._once)
        if self._life.is_ending:  # closed while it was started again
            query.stop()
            self.end()
        self._life.move(State.RUNNING)

    def follow(self) -> bool:
        if self._launched is None:
            if not self._wait_for_ownership():
                return False
            self._launch()
        while True:
            query, launched = self._query, self._launched
            if query is None or launched is None:
                return False
            changed = False
            while query.isActive and not changed:
                time.sleep(_POLL_SECONDS)
                launched.logs.show()
                changed = launched.control.has_other_topics
            launched.logs.show()  # before the error is told
            with self._life.lock:
                if self._life.is_ending:
                    return False
            if changed:
                self._plan_anew(query)
                continue
            exception = query.exception()
            if exception is None:  # it was to stop by itself, or Spark was stopped
                return True
            message = str(exception)
            file = log_file_of(launched.session)
            error = of_spark(message, file)
            if isinstance(error, FencedError) or _CONCURRENT in message:
                if not self._regain(error):
                    return False
                continue
            if isinstance(error, CheckpointDamaged) and not self._life.is_closing and self._may_start_again():
                self._begin_after(error)
                continue
            if not is_marked(message) and self._may_start_again():
                # No error of the application's: one of Spark's processes was killed, for instance.
                log.warning("Spark's query ended and is started again: %s", error.detail)
                self._life.move(State.REBALANCING)
                self._begin()
                continue
            if file is None:
                log.error("the application failed: %s", error)
            else:  # whoever waits for it gets the rest
                append(file, f"'{self._config.application_id}' failed: {story_of(message)}")
                log.error("'%s' failed: %s", self._config.application_id, error.primary)
            if not self._life.goes_on_after(error):
                return False
            self._begin()

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
        self._life.move(State.REBALANCING)
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
        self._life.move(State.REBALANCING)
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
        self._life.move(State.REBALANCING)
        query.stop()
        self._launch()

    def _may_start_again(self) -> bool:
        """Not for ever, if nothing gets done in between."""
        batches = self.statistics.totals()["commit-total"]
        if batches > self._batches_before:
            self._batches_before, self._restarts = batches, 0
        self._restarts += 1
        return self._restarts <= _RESTARTS
