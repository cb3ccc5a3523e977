"""The driver's side of its lanes."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable

import cloudpickle
from pyspark import SparkContext
from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.errors import StreamsError
from millstream.hosting.lanes.messages import Close, Event, Join, Order, Pause, Ready, Resume, Run, Stop
from millstream.hosting.lanes.query import SLOTS
from millstream.spark.calls.handshake import NotOursError, greet_client
from millstream.spark.calls.lane_log import levels
from millstream.spark.calls.unshippable import explain, forget_msgspec_caches
from millstream.spark.lane_job.channel import Beat, Channel, Hangs, Hello, Printed, Said
from millstream.spark.lane_job.worker import LanesOfServer
from millstream.spark.startup.masters import is_here
from millstream.spark.startup.session import lanes_of

log = logging.getLogger("millstream.lanes")

_GREETING_SECONDS = 10.0
_TOGETHER_SECONDS = 1.0
_CLOSE_SECONDS = 30.0
_AGAIN_SECONDS = 1.0
_WAIT_SECONDS = 60.0
#: A lane that works says something much more often.
_SILENT_SECONDS = 30.0


class LaneJob:
    """Runs lanes on Spark from `start` to `close`, and tells each of them, also one that comes later, what to run.

    Args:
        config: where the brokers are, how Spark runs.
        service: whose lanes they are.
        hear: hears of events and of whose they are, from several threads.
        gone: hears why there will be no lanes any more, when Spark is gone.
        most: more lanes have nothing to do.
        is_application: the service is one application.
    """

    def __init__(
        self,
        config: StreamsConfig,
        service: str,
        hear: Callable[[int, Event], None],
        gone: Callable[[Exception], None],
        *,
        most: int = SLOTS,
        is_application: bool = False,
    ) -> None:
        self._config = config
        self._most = most
        self._is_application = is_application
        self._service = service
        self._hear = hear
        self._gone = gone
        self._server = uuid.uuid4().hex[:8]
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._channels: dict[int, Channel] = {}
        self._places: dict[int, Hello] = {}
        #: When each lane was last heard of.
        self._heard: dict[int, float] = {}
        #: What a lane that comes now has to be told, pickled, by query.
        self._running: dict[str, bytes] = {}
        self._paused: set[str] = set()
        #: How many lanes Spark starts at the same time, how many were ready, and whether they need not be waited for.
        self._expected = 1
        self._ready = 0
        self._are_here = threading.Event()
        self._closing = threading.Event()
        self._listener: socket.socket | None = None
        self._session: SparkSession | None = None
        self._thread: threading.Thread | None = None

    def start(self, session: SparkSession) -> None:
        """Have Spark run lanes; returns at once."""
        context = session.sparkContext
        host = str(context.getConf().get("spark.driver.host", "127.0.0.1"))
        self._session = session
        self._listener = socket.create_server((host, 0))
        threading.Thread(target=self._accept, name="lanes-listener", daemon=True).start()
        threading.Thread(target=self._say_if_none_comes, name="lanes-wait", daemon=True).start()
        self._thread = threading.Thread(target=self._run, args=(host,), name="lanes-job", daemon=True)
        self._thread.start()

    def order(self, order: Order) -> None:
        """Tell all lanes.

        Raises:
            StreamsError: a query cannot be sent to other processes.
        """
        data = _pickled(order)
        with self._lock:
            match order:
                case Run(query):
                    self._running[query.id] = data
                case Stop(query_id, _):
                    self._running.pop(query_id, None)
                    self._paused.discard(query_id)
                case Pause(query_id):
                    self._paused.add(query_id)
                case Resume(query_id):
                    self._paused.discard(query_id)
            for channel in self._channels.values():
                with contextlib.suppress(OSError):  # Spark starts another, which is told all
                    channel.send_pickled(data)

    @property
    def lanes(self) -> dict[int, Hello]:
        """The lanes that are there now, and where."""
        with self._lock:
            return dict(self._places)

    def close(self, seconds: float = _CLOSE_SECONDS) -> bool:
        """Have lanes commit and leave; whether they did so in time. Safe to call again."""
        in_time = True
        self._closing.set()
        self.order(Close())
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive() and self._session is not None:
                in_time = False
                log.warning("lanes do not end, and are ended")
                self._session.sparkContext.cancelJobGroup(self._group)
        if self._listener is not None:
            self._listener.close()
        return in_time

    @property
    def _group(self) -> str:
        return f"lanes-{self._server}"

    def _run(self, host: str) -> None:
        """Have Spark run the job, and run it anew if it ends by itself."""
        session, listener = self._session, self._listener
        if session is None or listener is None:
            raise AssertionError("it was started")
        context = session.sparkContext
        address = (host, listener.getsockname()[1])
        lane = LanesOfServer(
            self._config,
            self._service,
            self._server,
            address,
            self._secret,
            levels() if self._is_application else {"millstream": log.getEffectiveLevel()},
            is_application=self._is_application,
        )
        # On a cluster Spark keeps lanes back for which there is no core yet: executors that come later get them.
        self._expected = min(lanes_of(session), self._most)
        count = self._expected if is_here(str(context.master)) else self._most
        while not self._closing.is_set():
            try:
                context.setJobGroup(self._group, f"lanes of {self._service}")
                context.parallelize(range(count), count).mapPartitionsWithIndex(lane).count()
            except Exception as error:  # Spark's own, whatever they are
                if self._closing.is_set():
                    return
                if _is_gone(context):
                    log.error("Spark is gone, and its lanes with it: %s", error)
                    self._gone(error)
                    return
                log.warning("lanes ended, and are started anew: %s", str(error).splitlines()[0][:300])
            self._closing.wait(_AGAIN_SECONDS)

    def _say_if_none_comes(self) -> None:
        """Without a word, statements of SQL would seem to be taken and do nothing."""
        while not self._closing.wait(_WAIT_SECONDS) and not self.lanes:
            log.warning(
                "no lane has begun since %.0f s: Spark has no free core for one, because it has lost its machines or "
                "another application in this process has them all",
                _WAIT_SECONDS,
            )

    def _accept(self) -> None:
        listener = self._listener
        while listener is not None:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._greet, args=(connection,), name="lane", daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(_GREETING_SECONDS)
            greet_client(connection, self._secret)
            connection.settimeout(None)
        except (OSError, NotOursError) as error:
            log.warning("somebody who is no lane was refused: %s", error)
            connection.close()
            return
        self._talk(Channel(connection))

    def _talk(self, channel: Channel) -> None:
        hello = channel.receive()
        if not isinstance(hello, Hello):
            channel.close()
            return
        with self._lock, contextlib.suppress(OSError):
            self._channels[hello.lane] = channel
            self._places[hello.lane] = hello
            self._heard[hello.lane] = time.monotonic()
            for data in [*self._running.values(), *map(_pickled, map(Pause, self._paused))]:
                channel.send_pickled(data)
            if self._closing.is_set():
                channel.send_pickled(_pickled(Close()))
        hung: Hangs | None = None
        while (told := channel.receive()) is not None:
            self._heard[hello.lane] = time.monotonic()
            match told:
                case Said(logger, level, text):
                    logging.getLogger(logger).log(level, "%s", text)
                case Printed(text):
                    print(text, end="", file=sys.stderr, flush=True)
                case Hangs():
                    hung = told
                case Ready():
                    self._wait_for_others()
                    with self._lock, contextlib.suppress(OSError):  # it is gone
                        channel.send_pickled(_pickled(Join()))
                case Hello() | Beat():
                    pass
                case _:
                    self._hear(hello.lane, told)  # type: ignore[arg-type]  # lanes send nothing else
        with self._lock:
            if self._channels.get(hello.lane) is channel:
                del self._channels[hello.lane], self._places[hello.lane]
        if hung is not None:
            log.warning(
                "lane %d was at one record for %.0f s and is started anew; a function that needs longer wants a "
                "greater max_poll_interval. It was at:\n%s",
                *(hello.lane, hung.seconds, hung.stack.rstrip()),
            )
        elif not self._closing.is_set():
            log.warning("lane %d (process %d on %s) is gone", hello.lane, hello.process, hello.host)
        channel.close()

    def _wait_for_others(self) -> None:
        """Have lanes that Spark starts at the same time join together: else tasks would move at once."""
        with self._lock:
            self._ready += 1
            if self._ready >= self._expected:
                self._are_here.set()
        self._are_here.wait(_TOGETHER_SECONDS)
        self._are_here.set()  # who comes later finds the others at work

    def end_silent(self) -> None:
        """End lanes on this machine that say nothing for too long: they were stopped by a signal, for instance."""
        most = max(self._config.max_poll_interval.total_seconds(), _SILENT_SECONDS)
        here = socket.gethostname()
        for lane, hello in self.lanes.items():
            if hello.host == here and time.monotonic() > self._heard[lane] + most:
                log.warning("lane %d (process %d) has said nothing for %.0f s and is ended", lane, hello.process, most)
                with contextlib.suppress(OSError):  # it is gone
                    os.kill(hello.process, signal.SIGKILL)


def _is_gone(context: SparkContext) -> bool:
    """Whether Spark has ended, or does not answer any more: it will not run anything again."""
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:  # Py4J's own, or the socket's
        return True


def _pickled(order: Order) -> bytes:
    try:
        return _dumped(order)
    except Exception:
        forget_msgspec_caches()
    try:
        return _dumped(order)
    except Exception as error:
        if isinstance(order, Run):
            raise explain(order.query.topology, error, order.query.config) from error
        raise StreamsError("an order cannot be sent to lanes", detail=repr(error)) from error


def _dumped(order: Order) -> bytes:
    data: bytes = cloudpickle.dumps(order)
    return data
