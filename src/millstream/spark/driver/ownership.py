"""One owner at a time: which of several running copies of an application processes its records.

The owner is the one member of the application's consumer group that holds the only partition of `<application>-owner`.
A copy that finds a member there waits and looks again, and joins when the group is empty: the way of a rolling update,
and of a driver that stands by. Lanes pass the owner's membership to `send_offsets_to_transaction`, so that Kafka itself
refuses the commit of whoever is no longer the owner.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from millstream.config import StreamsConfig, client_properties
from millstream.errors import MillstreamError, StreamsError
from millstream.kafka.admin import Partition
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import BrokerUnavailable, translate
from millstream.kafka.group_admin import GroupAdmin, Member
from millstream.kafka.topics import NewTopic
from millstream.spark.calls.processes import alive

log = logging.getLogger("millstream.client")

_T = TypeVar("_T")

#: Begins the client id of an owner, in which the others read who it is.
_SIGN = "millstream-owner"
#: How soon Kafka takes an owner for dead that says nothing more.
_SESSION_MS = 10_000
_HEARTBEAT_MS = 2_000
#: An owner asks for its news so often; heartbeats do not depend on it.
_POLL_SECONDS = 0.25
_LOOK_SECONDS = 1.0
_JOIN_SECONDS = 30.0
_AWAY_SECONDS = 0.5
_SAY_SECONDS = 30.0
_REQUEST_SECONDS = 10.0
#: How long a broker may take to answer before it counts as away.
_ANSWER_TIME = timedelta(seconds=5)
#: How much later than it could a broker may take note that a member is dead.
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Instance:
    """A copy of an application.

    Args:
        checkpoint: the id of its checkpoint.
        since: when it was started, in milliseconds since 1970.
        process: its process id.
        host: the machine it runs on.
    """

    checkpoint: str
    since: int
    process: int
    host: str

    @classmethod
    def here(cls, checkpoint: str) -> Instance:
        """This process."""
        return cls(checkpoint, time.time_ns() // 1_000_000, os.getpid(), socket.gethostname())

    @property
    def client_id(self) -> str:
        """By which the others know it."""
        return f"{_SIGN}/{self.checkpoint}/{self.since}/{self.process}/{self.host}"

    @classmethod
    def of(cls, client_id: str) -> Instance | None:
        """The instance behind a client id; None if it is not one of ours."""
        sign, *parts = client_id.split("/", 4)
        if sign != _SIGN or len(parts) != 4:
            return None
        return cls(parts[0], int(parts[1]), int(parts[2]), parts[3])

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since / 1000))
        return f"host {self.host} (process {self.process}) since {since}"


class Ownership:
    """This copy's part in who owns the application. Begins to ask for it at once, in a thread of its own.

    Args:
        config: the application.
        checkpoint: the id of this copy's checkpoint.
        look_again: answers the id of a checkpoint that another copy made there in the meantime; None if this copy had
            one from the start.
    """

    def __init__(
        self, config: StreamsConfig, checkpoint: str, look_again: Callable[[], str | None] | None = None
    ) -> None:
        self._config = config
        self._look_again = look_again
        #: Until when the owner before may still seem to be there.
        session = client_properties(config, "main.consumer").get("session.timeout.ms", _SESSION_MS)
        self._patience = time.monotonic() + int(session) / 1000 + _PATIENCE_SECONDS
        self._self = Instance.here(checkpoint)
        self._topic = f"{config.application_id}-owner"
        self._watch = ErrorWatch()
        self._changed = threading.Condition()
        self._closed = False
        #: The membership that lanes show to Kafka; None while this copy is not the owner.
        self._membership: bytes | None = None
        self._holder: Instance | None = None
        self._failure: MillstreamError | None = None
        self._published: Path | None = None
        self._to_commit: dict[Partition, TopicPartition] = {}
        #: Whether all that was to be committed is.
        self._sent = True
        self._is_waited_for = False
        self._thread = threading.Thread(target=self._run, name="millstream-ownership", daemon=True)
        self._thread.start()

    @property
    def checkpoint(self) -> str:
        """The id of this copy's checkpoint."""
        return self._self.checkpoint

    @property
    def is_owner(self) -> bool:
        """Whether this copy is the owner, as far as it knows: Kafka has the last word."""
        return self._membership is not None

    @property
    def holder(self) -> Instance | None:
        """The copy that this one waits for; None if it waits for none."""
        return self._holder

    def settle(self) -> bool:
        """Wait until it is known whether this copy is the owner, or which other one is.

        Raises:
            MillstreamError: this copy can never be the owner.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._membership or self._holder or self._failure or self._closed)
            self._raise_failure()
            return self._membership is not None

    def wait(self, seconds: float) -> bool:
        """Wait for so long to become the owner; whether it is.

        Raises:
            MillstreamError: this copy can never be the owner.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._membership or self._failure or self._closed, seconds)
            self._raise_failure()
            return self._membership is not None

    def publish(self, path: Path | None) -> None:
        """Have the membership in a file from now on, for the process that hands out work to lanes."""
        with self._changed:
            self._published = path
            self._write()

    def committed(self, partitions: Iterable[TopicPartition], *, stable: bool = False) -> list[TopicPartition]:
        """What the application's group has committed, with metadata; not what is still in a transaction.

        By another consumer: the one in the group answers nobody while it is polled.

        Args:
            partitions: of which topics.
            stable: wait for the end of transactions; else lanes of an earlier run may have left some open.
        """
        consumer = make_consumer(
            self._config, overrides={"isolation.level": "read_committed" if stable else "read_uncommitted"}
        )
        wanted = list(partitions)
        try:
            return self._patiently(lambda _: self._ask_committed(consumer, wanted)) or []
        finally:
            consumer.close()

    def _ask_committed(self, consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
        try:
            return consumer.committed(partitions, _REQUEST_SECONDS)
        except KafkaException as error:
            if error.args[0].code() == ClientError.UNSTABLE_OFFSET_COMMIT:
                raise BrokerUnavailable("a transaction is just ending") from error
            raise translate(error, "read the progress", self._config.bootstrap_servers) from error

    def commit(self, offsets: Iterable[TopicPartition]) -> None:
        """Commit offsets of the group soon, without waiting for it: they are for people to look at."""
        with self._changed:
            self._sent = False
            self._to_commit |= {(at.topic, at.partition): at for at in offsets}

    def commit_now(self, offsets: Iterable[TopicPartition]) -> None:
        """Commit offsets of the group, all or none, and wait until that is done.

        Raises:
            StreamsError: it could not be done.
        """
        with self._changed:
            self._is_waited_for = True  # before the thread can take them
            self.commit(offsets)
            done = self._changed.wait_for(lambda: self._sent or self._failure or self._closed, _JOIN_SECONDS)
            self._is_waited_for = False
            self._raise_failure()
        if not done or self._closed:
            raise StreamsError(
                "the progress of the application could not be committed",
                hint="this copy is not the owner any more, or the broker is away: start it again",
            )

    def close(self) -> None:
        """Let another copy go on. Safe to call again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # --- the thread

    def _run(self) -> None:
        try:
            self._compete()
        except MillstreamError as error:
            self._set(failure=error)
        except Exception as error:
            failure = StreamsError("it cannot be told who owns the application", detail=repr(error))
            failure.__cause__ = error
            self._set(failure=failure)

    def _compete(self) -> None:
        self._patiently(lambda admin: admin.ensure_topic(NewTopic(self._topic, 1)))
        while not self._closed:
            group = self._patiently(lambda admin: admin.describe(self._config.application_id))
            if group is not None and group.members:
                self._stand_by(group.members)
            elif not self._closed:
                self._own()

    def _patiently(self, ask: Callable[[GroupAdmin], _T]) -> _T | None:
        """Ask until a broker answers; None if there is no need any more."""
        said = -_SAY_SECONDS
        while not self._closed:
            # A new client each time: one that has seen its broker end may never find the group's coordinator again.
            with closing(GroupAdmin(self._config, timeout=_ANSWER_TIME)) as admin:
                try:
                    return ask(admin)
                except BrokerUnavailable as error:
                    if time.monotonic() > said + _SAY_SECONDS:
                        said = time.monotonic()
                        log.warning("waiting: %s", error)
            self._pause(_AWAY_SECONDS)
        return None

    def _stand_by(self, others: tuple[Member, ...]) -> None:
        """Another copy is the owner: wait a little, if it is one that this copy can follow."""
        found = [Instance.of(member.client) for member in others]
        foreign = next((member for member, instance in zip(others, found, strict=True) if instance is None), None)
        if foreign is not None:
            raise StreamsError(
                f"the group '{self._config.application_id}' has members that are not Millstream's",
                detail=f"client '{foreign.client}' on {foreign.host}",
                hint="the application_id is the consumer group: give each application its own, or stop the other",
            )
        holder = next((instance for instance in found if instance not in (None, self._self)), None)
        if holder is None:  # Kafka does not know yet that this copy has left
            self._pause(_LOOK_SECONDS)
            return
        if holder.checkpoint != self._self.checkpoint and self._look_again is not None:
            if self._look_again() == holder.checkpoint:
                self._self = replace(self._self, checkpoint=holder.checkpoint)
            elif self._may_be_dead(holder):
                self._pause(_LOOK_SECONDS)
                return
        if holder.checkpoint != self._self.checkpoint:
            raise StreamsError(
                f"application '{self._config.application_id}' already runs with another checkpoint",
                detail=f"it runs on {holder} with checkpoint {holder.checkpoint}; this is {self._self.checkpoint}",
                hint="a second copy that is to stand by needs the same checkpoint_location; an application of its own "
                "needs another application_id",
            )
        if self._holder != holder:
            log.warning("'%s' runs on %s, taking over when it ends", self._config.application_id, holder)
            self._set(holder=holder)
        self._pause(_LOOK_SECONDS)

    def _may_be_dead(self, holder: Instance) -> bool:
        """Whether an owner may have died with its checkpoint, only that Kafka does not know yet."""
        here = holder.host == self._self.host
        if here and holder.process != self._self.process and alive(holder.process):
            return False
        return time.monotonic() < self._patience

    def _own(self) -> None:
        """Join the group, and be the owner as long as Kafka says so."""
        lost = threading.Event()
        consumer = self._new_consumer()
        try:
            consumer.subscribe([self._topic], on_lost=lambda *_: lost.set())
            deadline = time.monotonic() + _JOIN_SECONDS
            while not self._closed and not lost.is_set():
                self._heed(consumer.poll(_POLL_SECONDS))
                if consumer.assignment():
                    if self._membership is None:
                        consumer.pause(consumer.assignment())  # there is nothing to read
                    self._set(membership=consumer.consumer_group_metadata())
                    self._send_commits(consumer, wait=False)
                elif self._membership is not None or time.monotonic() > deadline:
                    break  # another copy was quicker, or nobody answers
        finally:
            if self._membership is not None and not self._closed:
                log.warning("'%s': Kafka has not heard of this process for too long", self._config.application_id)
            self._set(membership=None)
            self._leave(consumer, lost.is_set())

    def _new_consumer(self) -> Consumer:
        overrides = {
            "client.id": self._self.client_id,
            # Whoever has the partition keeps it when another copy joins.
            "partition.assignment.strategy": "cooperative-sticky",
            "isolation.level": "read_committed",
        }
        given = client_properties(self._config, "main.consumer")
        if "session.timeout.ms" not in given:
            overrides |= {"session.timeout.ms": str(_SESSION_MS), "heartbeat.interval.ms": str(_HEARTBEAT_MS)}
        return make_consumer(self._config, watch=self._watch, overrides=overrides)

    def _heed(self, message: Message | None) -> None:
        if self._watch.refused is not None:
            refused, self._watch.refused = self._watch.refused, None
            raise translate(refused, "join the group of the application", self._config.bootstrap_servers)
        error = None if message is None else message.error()
        if error is not None and error.fatal():
            raise translate(error, "be the owner of the application", self._config.bootstrap_servers)

    def _send_commits(self, consumer: Consumer, *, wait: bool) -> None:
        """Only in this thread: another one would have to wait for the poll, which is nearly always under way."""
        with self._changed:
            offsets, self._to_commit = list(self._to_commit.values()), {}
        if not offsets:
            return
        with suppress(KafkaException):  # they are committed again after the next batch
            if wait or self._is_waited_for:
                consumer.commit(offsets=offsets, asynchronous=False)
                with self._changed:
                    self._sent = not self._to_commit
                    self._changed.notify_all()
            else:
                consumer.commit(offsets=offsets, asynchronous=True)

    def _leave(self, consumer: Consumer, lost: bool) -> None:
        if not lost:
            self._send_commits(consumer, wait=True)
        consumer.close()

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)

    def _set(
        self,
        *,
        membership: bytes | None = None,
        holder: Instance | None = None,
        failure: MillstreamError | None = None,
    ) -> None:
        with self._changed:
            news = membership != self._membership
            self._membership, self._holder, self._failure = membership, holder, failure
            if news:
                self._write()
            self._changed.notify_all()

    def _write(self) -> None:
        if self._published is not None and self._membership is not None:
            unfinished = self._published.with_suffix(".new")
            with suppress(FileNotFoundError):  # the run is over
                unfinished.write_bytes(self._membership)
                unfinished.replace(self._published)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
