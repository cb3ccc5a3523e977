"""Runs the crash application, kills parts of it, and checks that every result is there exactly once.

Used by the tests and by bench/soak.py.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from millstream.config import ProcessingMode, StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic
from millstream.views.api import Views
from millstream.views.queries import RangeQuery, WindowRangeQuery

from . import crash_app

PARTITIONS = 4
#: Generous: other things may run on the machine.
PATIENCE_SECONDS = 180.0
_TAG = "MILLSTREAM_CRASH_RUN"
#: Brokers delete what is older than the retention of windows, by their own clock.
_START_MS = int(time.time()) // 60 * 60_000
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Process:
    """A process of a run."""

    pid: int
    parent: int
    command: str


def processes(tag: str) -> list[Process]:
    """The processes that were started with a tag in their environment, and their children."""
    return started_with(_TAG, tag)


def started_with(variable: str, value: str) -> list[Process]:
    """The processes that have a variable in their environment, and their children."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
                    if state != "Z":
                        found.append(Process(int(entry.name), int(parent), command))
    return found


def wait_until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition.

    Raises:
        AssertionError: it does not come true in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} seconds"
        time.sleep(_POLL_SECONDS)


class App:
    """The application as a process with all its children."""

    def __init__(
        self,
        bootstrap: str,
        directory: Path,
        master: str,
        stores: str,
        max_batch_records: int = 1_000,
        mode: ProcessingMode = "micro_batch",
    ) -> None:
        self.tag = uuid.uuid4().hex
        self.starts = 0
        self._command = [
            sys.executable, crash_app.__file__, bootstrap, str(directory), master, stores, str(max_batch_records), mode,
        ]  # fmt: skip
        self.log = directory / "app.log"
        self._spark = directory / "checkpoint" / "spark"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again, and wait until it runs."""
        wait_until(lambda: not self._drivers(), "the end of the process before")
        seen = self._said("running")
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own script
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, _TAG: self.tag},
                start_new_session=True,
            )
        self.starts += 1
        wait_until(lambda: self._said("running") > seen or not self.running, "the start of the application")
        self.check()

    @property
    def running(self) -> bool:
        """Whether its own process lives."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise what it said last if it is gone."""
        assert self.running, f"the application ended:\n{self.tail()}"

    def stop(self) -> int:
        """End it as one should, with SIGTERM; answers its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(PATIENCE_SECONDS)

    def ask_to_end(self, how: signal.Signals) -> str:
        """Ask it to end, as a supervisor or a terminal does; the running batch must be finished. Start it again."""
        assert self._process is not None
        os.killpg(self._process.pid, how)  # a terminal tells all processes at once, and so do some supervisors
        code = self._process.wait(PATIENCE_SECONDS)
        assert how is signal.SIGINT or code == 0, self.tail()
        began, finished = ({path.name for path in (self._spark / log).glob("[0-9]*")} for log in ("offsets", "commits"))
        assert began == finished, f"{began - finished} was not finished"
        self.start()
        return how.name

    def kill(self) -> None:
        """Kill the process and its JVM at once."""
        assert self._process is not None
        own = self._process.pid
        for process in [p for p in self.processes() if p.pid == own or (p.parent == own and "java" in p.command)]:
            _kill(process.pid)
        self._process.wait()

    def kill_driver(self) -> str:
        """Kill the process and its JVM at once, and start it again."""
        self.kill()
        self.start()
        return "driver"

    def kill_jvm(self) -> str:
        """Kill only the JVM; the application has to notice and ends, and is started again."""
        assert self._process is not None
        own = self._process.pid
        for process in self.processes():
            if process.parent == own and "java" in process.command:
                _kill(process.pid)
        self._process.wait(PATIENCE_SECONDS)
        self.start()
        return "jvm"

    def kill_one(self, kind: str, chance: random.Random) -> str | None:
        """Kill a random process of a kind; None if there is none."""
        found = sorted(p.pid for p in self.processes() if _KINDS[kind](p))
        if not found:
            return None
        pid = chance.choice(found)
        _kill(pid)
        return f"{kind} {pid}"

    def processes(self) -> list[Process]:
        """Every process that it or its children started."""
        return processes(self.tag)

    def end(self) -> list[Process]:
        """Kill what is left, after a while in which it may end by itself; answers what had to be killed."""
        if self._process is not None:
            if self.running:
                self._process.kill()
            self._process.wait()
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not self.processes(), "the end of all processes", 20)
        left = self.processes()
        for process in left:
            _kill(process.pid)
        return left

    def tail(self, lines: int = 60) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _said(self, what: str) -> int:
        return self.log.read_text(errors="replace").splitlines().count(what) if self.log.exists() else 0

    def _drivers(self) -> list[Process]:
        return [process for process in self.processes() if "crash_app.py" in process.command]


_KINDS: dict[str, Callable[[Process], bool]] = {
    # What runs tasks, and the process from which they are forked.
    "worker": lambda process: "pyspark.worker" in process.command and "java" not in process.command,
    # What tells the driver which offsets there are.
    "reader": lambda process: "python_streaming_source_runner" in process.command,
    "lane": lambda process: "spark.lanes.server" in process.command,
    "executor": lambda process: "CoarseGrainedExecutorBackend" in process.command and "java" in process.command,
}


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Feed:
    """Produces clicks and buys at a steady rate, each exactly once, until all are out."""

    def __init__(
        self, bootstrap: str, records: int, a_second: float, seed: int, users: int = 40, first: int = 0
    ) -> None:
        self.records = records
        self._first = first
        self.clicks: Counter[str] = Counter()
        self.minutes: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._users = users
        self._a_second = a_second
        self._failure: BaseException | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self) -> None:
        """Wait until all records are out."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the records could not be produced"
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            begun = time.monotonic()
            for number in range(self.records):
                self._send(self._first + number)
                ahead = (number + 1) / self._a_second - (time.monotonic() - begun)
                if ahead > 0.05:
                    self._producer.poll(ahead)
            assert self._producer.flush(PATIENCE_SECONDS) == 0
        except BaseException as error:
            self._failure = error

    def _send(self, number: int) -> None:
        user = f"user-{self._chance.randrange(self._users)}"
        timestamp = _START_MS + number * 20
        self.clicks[user] += 1
        self.minutes[f"{user}@{timestamp // 60_000 * 60_000}"] += 1
        for topic in (crash_app.VISITS, crash_app.CLICKS):
            self._producer.produce(topic, str(number), user, timestamp=timestamp)
        buyer = f"user-{self._chance.randrange(self._users)}"
        self._producer.produce(crash_app.BUYS, str(number), buyer, timestamp=timestamp + self._chance.randrange(1000))


class Results:
    """What a reader of committed records sees, from the beginning on."""

    TOPICS = (crash_app.VISIT_COUNTS, crash_app.COUNTS, crash_app.MINUTES, crash_app.PAIRS)

    def __init__(self, bootstrap: str) -> None:
        self.values: dict[str, dict[str, list[Any]]] = {topic: {} for topic in self.TOPICS}
        self.seen = Counter[str]()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"results-{uuid.uuid4().hex}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        self._partitions = [TopicPartition(topic, number, 0) for topic in self.TOPICS for number in range(PARTITIONS)]
        self._consumer.assign(self._partitions)
        self._at_end: dict[tuple[str, int], int] = {}

    def wait_for(self, count: int, app: App, *, while_alive: bool = True) -> None:
        """Read until there are so many of each kind.

        Raises:
            AssertionError: nothing comes for a long time, or the application is gone.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while min(self.seen[topic] for topic in self.TOPICS) < count:
            if self._poll():
                deadline = time.monotonic() + PATIENCE_SECONDS
            if while_alive:
                app.check()
            assert time.monotonic() < deadline, f"{dict(self.seen)} of {count} results:\n{app.tail()}"

    def read_to_end(self) -> None:
        """Read all that is there, when nothing is written any more."""
        ends = {
            (at.topic, at.partition): self._consumer.get_watermark_offsets(at, timeout=30)[1] for at in self._partitions
        }
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(self._at_end.get(at, 0) < end for at, end in ends.items() if end):
            self._poll()
            assert time.monotonic() < deadline, f"the end of the results: {self._at_end} of {ends}"

    def check(self, *feeds: Feed) -> None:
        """Every count from 1 to n once and in order, for every user and every minute; every pair once."""
        records = sum(feed.records for feed in feeds)
        clicks, minutes = Counter[str](), Counter[str]()
        for feed in feeds:
            clicks += feed.clicks
            minutes += feed.minutes
        for topic, expected in (
            (crash_app.VISIT_COUNTS, clicks),
            (crash_app.COUNTS, clicks),
            (crash_app.MINUTES, minutes),
        ):
            found = self.values[topic]
            wrong = {key: _gaps(found.get(key, []), count) for key, count in expected.items()}
            wrong = {key: gaps for key, gaps in wrong.items() if gaps}
            assert not wrong, f"{topic}: {len(wrong)} of {len(expected)} keys are wrong, such as {_some(wrong)}"
            assert found.keys() == expected.keys()
        pairs = self.values[crash_app.PAIRS]
        odd = {str(n): pairs.get(str(n), []) for n in range(records)}
        odd = {number: values for number, values in odd.items() if values != [f"{number}+{number}"]}
        assert not odd, f"pairs: {len(odd)} of {records} are wrong, such as {_some(odd)}"
        assert len(pairs) == records

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def _poll(self) -> bool:
        some = False
        for message in self._consumer.consume(5_000, 0.1):
            topic, error = message.topic() or "", message.error()
            if error is None:
                key, value = message.key() or b"", message.value() or b""
                found: Any = value.decode() if topic == crash_app.PAIRS else int.from_bytes(value, "big")
                self.values[topic].setdefault(key.decode(), []).append(found)
                self.seen[topic] += 1
                some = True
            elif error.code() == KafkaError._PARTITION_EOF:
                self._at_end[topic, message.partition() or 0] = message.offset() or 0
            elif error.fatal():
                raise KafkaException(error)
        return some


def _gaps(found: list[int], count: int) -> str:
    if found == list(range(1, count + 1)):
        return ""
    times = Counter(found)
    missing = [n for n in range(1, count + 1) if n not in times]
    twice = [n for n, seen in times.items() if seen > 1]
    return f"{len(found)} of {count}, missing {missing[:5]}, twice {twice[:5]}, sorted {found == sorted(found)}"


def _some(wrong: dict[str, Any]) -> dict[str, Any]:
    return dict(list(wrong.items())[:3])


@contextlib.contextmanager
def running(
    directory: Path,
    *,
    records: int,
    a_second: float,
    seed: int,
    master: str,
    stores: str,
    mode: ProcessingMode = "micro_batch",
) -> Iterator[tuple[DevBroker, App, Feed, Results]]:
    """A broker of its own, the application on it, records coming in, and results being read.

    At the end everything is closed. It is an error if a process is left over after that.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with DevBroker(directory / "broker") as broker:
        bootstrap = broker.bootstrap_servers
        admin = Admin(StreamsConfig(application_id="crash-tests", bootstrap_servers=bootstrap))
        topics = (crash_app.VISITS, crash_app.CLICKS, crash_app.BUYS, *Results.TOPICS)
        admin.create_topics([NewTopic(topic, PARTITIONS) for topic in topics])
        app = App(bootstrap, directory, master, stores, mode=mode)
        results = Results(bootstrap)
        try:
            feed = Feed(bootstrap, records, a_second, seed)
            app.start()
            feed.start()
            yield broker, app, feed, results
        finally:
            results.close()
            left = app.end()
    assert not left, f"processes were left over: {left}"


def finish(app: App, feed: Feed, results: Results) -> None:
    """Wait for all results, close the application, and check that there is each of them once."""
    feed.join()
    results.wait_for(feed.records, app)
    assert app.stop() == 0, app.tail()
    results.read_to_end()
    results.check(feed)
    wait_until(lambda: not app.processes(), f"the end of {app.processes()}", 30)


Kill = Callable[[DevBroker, App, random.Random], str | None]


def crash(
    directory: Path,
    kills: Sequence[Kill],
    *,
    records: int,
    seed: int,
    a_second: float = 1_000,
    master: str = "local[2]",
    stores: str = "memory",
    mode: ProcessingMode = "micro_batch",
    say: Callable[[str], object] = lambda text: None,
) -> None:
    """Kill things one after the other at random moments while records are processed, then check the results."""
    chance = random.Random(seed)
    with running(directory, records=records, a_second=a_second, seed=seed, master=master, stores=stores, mode=mode) as (
        broker,
        app,
        feed,
        results,
    ):
        config = crash_app.configuration(broker.bootstrap_servers, directory, master, stores)
        views = Views(crash_app.topology(), replace(config, state_dir=directory / "views"))
        views.start()
        with contextlib.closing(views):
            moments = sorted(chance.uniform(0.02, 0.9) for _ in kills)
            for moment, kill in zip(moments, kills, strict=True):
                results.wait_for(int(moment * records), app)
                time.sleep(chance.uniform(0, 0.6))  # somewhere in a batch
                what = kill(broker, app, chance)
                say(f"{min(results.seen.values(), default=0):>6} of {records}: killed {what}")
            finish(app, feed, results)
            check_views(views, feed)


def check_views(views: Views, feed: Feed) -> None:
    """Views that were there all the time end up with all counts, and in every window."""

    def counts(store: str) -> dict[str, int]:
        return {row.key: row.value for row in views.ask(store, RangeQuery()).rows}

    def minutes() -> dict[str, int]:
        rows = views.ask("by-minute", WindowRangeQuery()).rows
        return {f"{row.key}@{row.window.start}": row.value for row in rows if row.window is not None}

    views.wait_until_ready(timeout=timedelta(seconds=PATIENCE_SECONDS))
    wait_until(lambda: counts("visits") == feed.clicks, "all counts of visits in the view")
    wait_until(lambda: counts("by-user") == feed.clicks, "all counts by user in the view")
    wait_until(lambda: minutes() == feed.minutes, "all counts by minute in the view")


def kill_driver(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.kill_driver()


def kill_jvm(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.kill_jvm()


def kill_lane(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.kill_one("lane", chance)


def kill_worker(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.kill_one("worker", chance)


def kill_reader(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.kill_one("reader", chance)


def kill_executor(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.kill_one("executor", chance)


def terminate(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.ask_to_end(signal.SIGTERM)


def interrupt(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    return app.ask_to_end(signal.SIGINT)


def kill_broker(broker: DevBroker, app: App, chance: random.Random) -> str | None:
    broker.kill()
    time.sleep(chance.uniform(0, 3))  # away for a while
    broker.restart()
    return "broker"
