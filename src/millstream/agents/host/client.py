"""An application seen from a process that runs none of its agents: sends to its topics, and asks its agents."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from types import TracebackType
from typing import Any, Self

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

from millstream.agents.body.outgoing import Outgoing
from millstream.agents.body.replies import CORRELATION_ID, REPLY_TO
from millstream.agents.declared import Declared
from millstream.config import StreamsConfig
from millstream.errors import StateStoreError
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_consumer, make_producer
from millstream.kafka.topics import NewTopic
from millstream.records import Headers

_POLL_SECONDS = 0.1
_FLUSH_SECONDS = 30.0
#: How long answers are kept, should nobody be there any more to delete their topic.
_REPLY_MS = 86_400_000


class Client:
    """Sends and asks, from `open` to `close`. Tables can be read where the application runs; see `Worker`.

    Args:
        app: the application.
        config: with the brokers to talk to.
    """

    def __init__(self, app: Declared, config: StreamsConfig) -> None:
        self.app = app
        self.config = config
        self._producer: Producer | None = None
        self._replies: Replies | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self.app.surroundings.running = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Have everything written, and let go."""
        if self.app.surroundings.running is self:
            self.app.surroundings.running = None
        if self._replies is not None:
            self._replies.close()
        if self._producer is not None:
            self._producer.flush(_FLUSH_SECONDS)

    # --- `Outside`

    def send(self, key: bytes | None, outgoing: Outgoing, timestamp: int | None, headers: Headers | None) -> None:
        """See `Outside`."""
        with self._lock:
            producer = self._producer = self._producer or make_producer(self.config)
        options: dict[str, Any] = {} if outgoing.partition is None else {"partition": outgoing.partition}
        if timestamp is not None:
            options["timestamp"] = timestamp
        if headers:
            options["headers"] = list(headers)
        producer.produce(outgoing.topic, outgoing.value, key, **options)
        producer.poll(0)

    def now(self) -> int:
        """See `Outside`."""
        return int(time.time() * 1000)

    async def ask(self, question: tuple[bytes | None, Outgoing], headers: Headers) -> Any:
        """See `Outside`."""
        if self._replies is None:
            self._replies = await asyncio.to_thread(Replies, self.config)
        correlation = uuid.uuid4().hex
        answer = self._replies.expect(correlation)
        topic = self._replies.topic.encode()
        asking = Headers([*headers, (REPLY_TO, topic), (CORRELATION_ID, correlation.encode())])
        self.send(question[0], question[1], None, asking)
        return await answer

    def read(self, table: str, key: Any) -> Any:
        """See `Outside`."""
        raise _not_here(table)

    def read_window(self, table: str, key: Any, start: int) -> Any:
        """See `Outside`."""
        raise _not_here(table)

    def rows(self, table: str) -> list[tuple[Any, Any]]:
        """See `Outside`."""
        raise _not_here(table)


class Replies:
    """The topic for answers to this process, and the thread that reads it."""

    def __init__(self, config: StreamsConfig) -> None:
        self.topic = f"{config.application_id}-reply-{uuid.uuid4().hex[:12]}"
        self._admin = Admin(config)
        self._admin.create_topics([NewTopic(self.topic, 1, {"retention.ms": str(_REPLY_MS)})])
        self._waiting: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}
        self._closing = threading.Event()
        reading = {"isolation.level": "read_committed", "fetch.wait.max.ms": "50"}
        self._consumer: Consumer = make_consumer(config, overrides=reading)
        self._consumer.assign([TopicPartition(self.topic, 0, 0)])
        self._thread = threading.Thread(target=self._read, name="millstream-replies", daemon=True)
        self._thread.start()

    def expect(self, correlation: str) -> asyncio.Future[Any]:
        """The answer to come."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting[correlation] = loop, answer
        return answer

    def close(self) -> None:
        """Stop reading; nobody else reads this topic, so it goes."""
        self._closing.set()
        self._thread.join()
        self._admin.delete_topics([self.topic])
        self._admin.close()

    def _read(self) -> None:
        while not self._closing.is_set():
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None or message.error() is not None:
                continue
            answer = orjson.loads(message.value() or b"{}")
            waiting = self._waiting.pop(answer.get("correlation_id", ""), None)
            if waiting is not None:
                loop, future = waiting
                loop.call_soon_threadsafe(_settle, future, answer)
        self._consumer.close()


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _not_here(table: str) -> StateStoreError:
    return StateStoreError(
        f"table '{table}' cannot be read here",
        detail="the application does not run in this process",
        hint="read it in a task, a timer or a page, or ask an agent",
    )
