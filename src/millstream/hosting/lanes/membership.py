"""A lane among the others: which slots are its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from millstream.config import client_properties
from millstream.hosting.lanes.settings import SESSION_MS, LaneSettings
from millstream.kafka.clients import ErrorWatch, make_consumer
from millstream.kafka.errors import translate

log = logging.getLogger("millstream.lanes")

_SHARING_SECONDS = 3.0
_AGAIN_SECONDS = 0.05


class Membership:
    """A member of the lanes' group, which shares out the partitions of the topic of slots.

    Args:
        settings: which lane it is.
        may_join: asked until it says that the lane may join.
        gained: told which slots are this lane's from now on, beside those that it has; none if the others have all.
        lost: told which slots are not any more, and whether there is still time to commit what was done for them.
    """

    def __init__(
        self,
        settings: LaneSettings,
        *,
        may_join: Callable[[], bool],
        gained: Callable[[set[int]], None],
        lost: Callable[[set[int], bool], None],
    ) -> None:
        self._topic = settings.topic
        self._may_join = may_join
        self._has_joined = False
        self._gained = gained
        self._lost = lost
        self._watch = ErrorWatch()
        config = settings.config
        overrides = {
            "client.id": settings.client,
            "group.id": settings.group,
            "group.protocol": "classic",
            "partition.assignment.strategy": "cooperative-sticky",
            "isolation.level": "read_committed",
            "auto.offset.reset": "latest",
        }
        if "session.timeout.ms" not in client_properties(config, "main.consumer"):
            overrides |= {"session.timeout.ms": str(SESSION_MS), "heartbeat.interval.ms": "1000"}
        self._consumer = make_consumer(config, watch=self._watch, overrides=overrides)

    def poll(self, seconds: float) -> None:
        """Heed what the group says, or says in this time."""
        if not self._has_joined:
            if not self._may_join():
                return
            self._has_joined = True
            calls = {"on_assign": self._assigned, "on_revoke": self._revoked, "on_lost": self._taken}
            self._consumer.subscribe([self._topic], **calls)
        event = self._consumer.poll(seconds)
        error = None if event is None else event.error()
        if error is not None and error.fatal():
            raise translate(error, "be a member of the lanes' group")
        if self._watch.refused is not None:
            raise translate(self._watch.refused, "join the lanes' group")

    @property
    def metadata(self) -> bytes:
        """What proves to Kafka that this lane is a member, as it is now."""
        found: bytes = self._consumer.consumer_group_metadata()
        return found

    def commit(self, offsets: list[TopicPartition]) -> None:
        """Commit offsets of the group, without waiting for it: they are for people to look at."""
        with suppress(KafkaException):  # they are committed again with the next ones
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def is_still_of(self, slots: Collection[int]) -> bool:
        """Whether Kafka takes this lane for a member as it is now, so that nobody else has had its slots so far."""
        offsets = [TopicPartition(self._topic, slot, 1) for slot in slots]
        deadline = time.monotonic() + _SHARING_SECONDS
        while True:
            try:
                done = self._consumer.commit(offsets=offsets, asynchronous=False) or []
                refused = {at.error.code() for at in done if at.error is not None}
            except KafkaException as error:
                refused = {error.args[0].code()}
            if not refused:
                return True
            # Others come or go, and this lane still has what it has not given back.
            if refused != {KafkaError.REBALANCE_IN_PROGRESS} or time.monotonic() > deadline:
                return False
            time.sleep(_AGAIN_SECONDS)

    def close(self) -> None:
        """Leave: the others get this lane's slots at once."""
        self._consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for at in partitions:
            at.offset = OFFSET_END
        consumer.incremental_assign(partitions)
        if partitions:
            consumer.pause(partitions)  # the group only shares them out
        self._gained({at.partition for at in partitions})

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._lost({at.partition for at in partitions}, True)
        consumer.incremental_unassign(partitions)

    def _taken(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        log.warning("this lane was silent for too long: its tasks are done by others")
        self._lost({at.partition for at in partitions}, False)
        consumer.incremental_unassign(partitions)
