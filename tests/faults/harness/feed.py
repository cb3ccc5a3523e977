"""What comes in: numbered records at a steady rate, in short transactions: each is there once or not at all.

Should the outcome of a transaction stay unknown, the feed goes on with new numbers. What is expected of the application
is read from the topics (truth.py), not from here.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid

from confluent_kafka import KafkaException, Producer

from .topics import Topics

_START_MS = 1_700_000_040_000
_USERS = 40
#: A transaction that stays open keeps readers from going on.
_TRANSACTION_SECONDS = 0.15
_WAIT_SECONDS = 60.0
#: So many a second after as many as were asked for, until it is told to end: there must be something to recover with.
_SLOW = 40.0


class Feed:
    """Writes visits, clicks and buys in a thread of its own.

    Args:
        bootstrap: the broker's address.
        topics: where to.
        rate: numbers a second; each is a visit, a click and a buy.
        records: after so many it slows down.
        seed: of users and times.
        first: the number to begin with.
    """

    def __init__(self, bootstrap: str, topics: Topics, *, rate: float, records: int, seed: int, first: int = 0) -> None:
        self._bootstrap = bootstrap
        self._topics = topics
        self._rate = rate
        self._records = first + records
        self._chance = random.Random(seed)
        self._number = first
        self._waiting = 0
        self._ending = threading.Event()
        self._may_run = threading.Event()
        self._may_run.set()
        self._rests = threading.Event()
        self._id = f"feed-{uuid.uuid4().hex}"
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    @property
    def number(self) -> int:
        """The next number."""
        return self._number

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def burst(self, count: int) -> None:
        """Write so many at once, and return when they are out: work that waits."""
        until = self._number + count
        self._waiting = count
        deadline = time.monotonic() + _WAIT_SECONDS
        while self._number < until or self._waiting:
            if self._failure is not None or time.monotonic() > deadline:
                raise TimeoutError("the feed does not write") from self._failure
            time.sleep(0.02)

    def pause(self) -> None:
        """Write nothing until told to go on; when this returns, all that was written is committed."""
        self._rests.clear()
        self._may_run.clear()
        if not self._rests.wait(_WAIT_SECONDS):
            raise TimeoutError("the feed does not come to rest")

    def resume(self) -> None:
        """Go on."""
        self._may_run.set()

    def end(self) -> None:
        """Commit what is under way, and stop."""
        self._ending.set()
        self._may_run.set()
        if self._thread.ident is not None:
            self._thread.join(_WAIT_SECONDS)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            producer = self._producer()
            while not self._ending.is_set():
                if not self._may_run.is_set():
                    self._rests.set()
                    self._may_run.wait()
                    continue
                begun = time.monotonic()
                rate = self._rate if self._number < self._records else _SLOW
                count = max(1, round(rate * _TRANSACTION_SECONDS))
                extra = self._waiting
                if not self._transaction(producer, count + extra):
                    producer = self._producer()
                self._waiting -= extra
                self._ending.wait(max(0.0, count / rate - (time.monotonic() - begun)))
        except Exception as error:
            self._failure = error

    def _transaction(self, producer: Producer, count: int) -> bool:
        """Write so many; False if nobody knows what became of them."""
        try:
            producer.begin_transaction()
            for _ in range(count):
                self._send(producer)
            producer.commit_transaction(_WAIT_SECONDS)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                return False
            with contextlib.suppress(KafkaException):
                producer.abort_transaction(_WAIT_SECONDS)
                return True
            return False
        return True

    def _send(self, producer: Producer) -> None:
        number, self._number = str(self._number), self._number + 1
        timestamp = _START_MS + int(number) * 20
        user, buyer = (f"user-{self._chance.randrange(_USERS)}" for _ in range(2))
        producer.produce(self._topics.visits, number, user, timestamp=timestamp)
        producer.produce(self._topics.clicks, number, user, timestamp=timestamp)
        producer.produce(self._topics.buys, number, buyer, timestamp=timestamp + self._chance.randrange(1000))
        producer.poll(0)

    def _producer(self) -> Producer:
        """One that ends what another of its name left open."""
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": self._id,
                "partitioner": "murmur2_random",
                "transaction.timeout.ms": 60_000,
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        while True:
            try:
                producer.init_transactions(_WAIT_SECONDS)
            except KafkaException as error:
                if not error.args[0].retriable() or self._ending.is_set():
                    raise
            else:
                return producer
