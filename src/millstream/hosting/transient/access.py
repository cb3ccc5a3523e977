"""How those who look at topics reach them."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Protocol

from millstream.config import StreamsConfig
from millstream.hosting.transient.places import Places, places
from millstream.hosting.transient.reader import Reader, TopicReader
from millstream.kafka.admin import Admin


class TopicAccess(Protocol):
    """Topics that can be read. Its methods may be called from any thread."""

    def places(self, topics: Collection[str], *, from_beginning: bool) -> Places:
        """Where topics begin, or end, now.

        Raises:
            MillstreamError: a topic does not exist, or cannot be asked about.
        """

    def open(self, places: Places, *, waiting: int) -> Reader:
        """Read from there on; see `TopicReader`."""


class KafkaAccess:
    """See `TopicAccess`. The admin client is made when it is first needed.

    Args:
        config: where the brokers are and how to reach them.
    """

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._admin: Admin | None = None

    def places(self, topics: Collection[str], *, from_beginning: bool) -> Places:
        with self._lock:
            if self._admin is None:
                self._admin = Admin(self._config)
        return places(self._admin, topics, from_beginning=from_beginning)

    def open(self, places: Places, *, waiting: int) -> Reader:
        return TopicReader(self._config, places, waiting=waiting)
