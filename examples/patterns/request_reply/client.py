"""A client that asks over topics, with many requests under way at once.

python -m examples.patterns.request_reply.client CLIENT COUNTER [COUNTER ...]
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import uuid
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from .app import REPLIES_PREFIX, REQUESTS

_POLL_SECONDS = 0.1


class Client:
    """Sends requests, and hands each reply to who waits for it.

    Replies come to a topic of the client's own, with one partition. It is read from its end on: replies to an earlier
    life of this client are nobody's.
    """

    def __init__(self, bootstrap_servers: str, name: str) -> None:
        self.name = name
        self.unknown_replies = 0
        self._waiting: dict[str, tuple[Future[int], float]] = {}
        self._lock = threading.Lock()
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": f"replies-{name}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",  # a reply counts when it is committed
            }
        )
        replies = TopicPartition(REPLIES_PREFIX + name, 0)
        replies.offset = self._consumer.get_watermark_offsets(replies, timeout=30)[1]
        self._consumer.assign([replies])
        self._closed = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"replies-{name}", daemon=True)
        self._reader.start()

    def ask(self, counter: str, timeout: timedelta) -> Future[int]:
        """Ask for a number; the future gets it, or a TimeoutError once the request is of no use any more."""
        request, deadline = uuid.uuid4().hex, time.time() + timeout.total_seconds()
        future: Future[int] = Future()
        with self._lock:
            self._waiting[request] = future, deadline
        body = {"id": request, "client": self.name, "deadline": int(deadline * 1000)}
        self._producer.produce(REQUESTS, json.dumps(body), counter)
        self._producer.poll(0)
        return future

    @property
    def waiting(self) -> int:
        """How many requests have neither a reply nor run out of time."""
        return len(self._waiting)

    def close(self) -> None:
        """Stop reading replies."""
        self._producer.flush(10)
        self._closed.set()
        self._reader.join()
        self._consumer.close()

    def _read(self) -> None:
        while not self._closed.is_set():
            message = self._consumer.poll(_POLL_SECONDS)
            if message is not None and message.error() is None:
                self._take(json.loads(message.value() or b"{}"))
            self._give_up()

    def _take(self, reply: dict[str, Any]) -> None:
        with self._lock:
            found = self._waiting.pop(reply["id"], None)
        if found is None:
            self.unknown_replies += 1  # too late, or a second one
        else:
            found[0].set_result(reply["number"])

    def _give_up(self) -> None:
        now = time.time()
        with self._lock:
            late = [request for request, (_, deadline) in self._waiting.items() if deadline < now]
            given_up = [self._waiting.pop(request) for request in late]
        for future, _ in given_up:
            future.set_exception(TimeoutError("no reply in time"))


def main() -> None:
    name, *counters = sys.argv[1:]
    client = Client(os.environ.get("MILLSTREAM_BOOTSTRAP_SERVERS", "localhost:9092"), name)
    try:
        futures = [client.ask(counter, timedelta(seconds=60)) for counter in counters]
        for counter, future in zip(counters, futures, strict=True):
            print(f"{counter}: number {future.result()}")
    finally:
        client.close()


if __name__ == "__main__":
    main()
