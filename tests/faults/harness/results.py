"""What a reader of committed records sees of the application, as it comes."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

from confluent_kafka import Message

from .reading import Reader
from .topics import PARTITIONS, Topics


@dataclass(frozen=True)
class Recovery:
    """How long after a moment there were new results, in seconds; None is not yet."""

    first: float | None
    #: Until every partition of every result topic had a new one.
    everywhere: float | None


class Results:
    """Reads results in a thread of its own."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self._topics = topics
        #: Of every topic and key, the values in their order.
        self.values: dict[str, defaultdict[str, list[str | int]]] = {
            topic: defaultdict(list) for topic in topics.results
        }
        self.seen = Counter[str]()
        self.latest = time.monotonic()
        #: Partition, when it was written, when it was seen; both in seconds of the wall clock.
        self._arrivals: list[tuple[tuple[str, int], float, float]] = []
        self._reader = Reader(bootstrap, topics.results)
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="results", daemon=True)
        self._thread.start()

    @property
    def total(self) -> int:
        """How many there are."""
        return self.seen.total()

    def recovery(self, since: float) -> Recovery:
        """How long after a moment of the wall clock there were results that had been written after it."""
        self.check()
        firsts: dict[tuple[str, int], float] = {}
        for partition, written, seen in self._arrivals[:]:
            if written > since:
                firsts.setdefault(partition, seen - since)
        complete = len(firsts) == PARTITIONS * len(self._topics.results)
        return Recovery(min(firsts.values(), default=None), max(firsts.values()) if complete else None)

    def check(self) -> None:
        """Raise if they cannot be read."""
        if self._failure is not None:
            raise self._failure

    def close(self, *, to_end: bool) -> None:
        """Stop reading, if asked for when all was read. Safe to call again."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._thread.join()
        try:
            if to_end:
                self.check()
                for message in self._reader.read_to_end():
                    self._take(message)
        finally:
            self._reader.close()

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                for message in self._reader.poll():
                    self._take(message)
        except Exception as error:
            self._failure = error

    def _take(self, message: Message) -> None:
        topic, key, value = message.topic() or "", message.key() or b"", message.value() or b""
        found = value.decode() if topic == self._topics.pairs else int.from_bytes(value, "big")
        self.values[topic][key.decode()].append(found)
        self.seen[topic] += 1
        self.latest = time.monotonic()
        self._arrivals.append(((topic, message.partition() or 0), message.timestamp()[1] / 1000, time.time()))
