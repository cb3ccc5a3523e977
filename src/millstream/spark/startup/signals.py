"""SIGTERM and Ctrl-C while an application starts, runs and stops: none is lost, and each gets a word at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: What is under way: a batch, or what lanes have not committed.
STOPPING = "stopping after what is under way ..."


class Terminated(SystemExit):
    """SIGTERM came while an application started: it ends the process, with the exit code that supervisors know."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class StopSignals:
    """Has signals stop an application, from the first moment of its start to the end of its close.

    Only the main thread can ask for signals; in another one this does nothing.

    Args:
        numbers: the signals; others are left alone as long as it runs.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self._numbers = numbers
        self._before: dict[signal.Signals, Any] = {}
        self._stop: Callable[[], object] | None = None
        self._came: int | None = None

    def starting(self) -> None:
        """From now on a signal ends the start."""
        for number in self._numbers:
            self._listen(number, self._heed)

    def running(self, stop: Callable[[], object]) -> None:
        """From now on a signal calls a function, in a thread of its own.

        Raises:
            Terminated: one came already, where nothing could be raised.
        """
        self._stop = stop
        if self._came is not None:
            raise _end(self._came)

    def stopping(self) -> None:
        """From now on signals only get an answer: the application is stopping already."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._listen(number, lambda *_: say(STOPPING))

    def over(self) -> None:
        """Signals go where they went before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _heed(self, number: int, frame: FrameType | None) -> None:
        self._came = number
        if self._stop is None:
            say("stopping")
            raise _end(number)
        say(f"{STOPPING}; Ctrl-C again stops at once, and the next start does it anew")
        self._listen(signal.SIGINT, signal.SIG_DFL)
        threading.Thread(target=self._stop, name="millstream-close").start()

    def _listen(
        self, number: signal.Signals, handler: Callable[[int, FrameType | None], object] | signal.Handlers
    ) -> None:
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(number, handler)
            # None was not set from Python, and cannot be set again from there.
            self._before.setdefault(number, signal.SIG_DFL if before is None else before)


def _end(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated()


def say(line: str) -> None:
    """Tell a person, at once."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def signals_are_the_drivers(*, local: bool) -> Iterator[None]:
    """Have Spark, which is started in this block, leave SIGINT and SIGTERM to the driver, which ends it properly.

    PySpark's own handler of SIGINT cancels the running batch. A supervisor may send SIGTERM to all processes at once:
    what is ignored when a JVM starts is ignored for ever, by Spark's Python processes too. They end with the driver. It
    must be ignored by the JVM alone: the driver would lose what comes in the meantime.
    """
    from pyspark import java_gateway  # slow, and the command line needs the rest of this module at once

    gateway: Any = java_gateway
    popen: Any = gateway.Popen
    started: list[subprocess.Popen[bytes]] = []

    def start_ignoring(*args: Any, preexec_fn: Callable[[], object], **options: Any) -> Any:
        def prepare() -> None:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            preexec_fn()

        started.append(popen(*args, preexec_fn=prepare, **options))
        return started[-1]

    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if local:
        gateway.Popen = start_ignoring
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        for process in started:  # a JVM that is still starting does not notice that its driver is gone
            process.kill()
            process.wait()
        raise
    finally:
        gateway.Popen = popen
        if main and before is not None:  # None was not set from Python
            signal.signal(signal.SIGINT, before)
