"""The log file of an application: what Spark says at its start and later, and the whole story of a failure."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.directories import state_directory

#: Where a session keeps the path.
OPTION = "spark.millstream.log"
_NAME = "application.log"
_AT_ONCE = 1 << 16
_ERROR_OUTPUT = 2


def log_file(config: StreamsConfig) -> Path:
    """Where it is: beside the default checkpoint, or in a temporary directory if nothing can be written there."""
    base = Path(config.state_dir) if config.state_dir is not None else state_directory() / "applications"
    directory = base.absolute() / config.application_id
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
    if not os.access(directory, os.W_OK):
        directory = Path(tempfile.mkdtemp(prefix="millstream-"))
    return directory / _NAME


def log_file_of(session: SparkSession) -> Path | None:
    """The log file of a session; None if its log is somebody else's."""
    found = session.conf.get(OPTION, None)
    return None if found is None else Path(found)


def append(file: Path, text: str) -> None:
    """Write to a log file; one that cannot be written is no reason to fail once more."""
    with contextlib.suppress(OSError), file.open("a", encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"{datetime.now().astimezone():%y/%m/%d %H:%M:%S} {text.rstrip()}\n")


@contextlib.contextmanager
def start_is_logged(file: Path | None) -> Iterator[None]:
    """Send what a JVM says that is started in this block to a log file, until the block ends; later, it is shown.

    If the start fails, that is shown after all: it is the reason.
    """
    if file is None:
        yield
        return
    from pyspark import java_gateway

    gateway: Any = java_gateway
    popen: Any = gateway.Popen
    held: list[_Held] = []

    def start(*args: Any, **options: Any) -> Any:
        process = popen(*args, stderr=subprocess.PIPE, **options)
        held.append(_Held(process.stderr))
        return process

    gateway.Popen = start
    try:
        yield
    except Exception:
        for each in held:
            _show(each.let_go())
        raise
    finally:
        gateway.Popen = popen
    for each in held:
        append(file, f"Spark starts\n{each.let_go().decode(errors='replace')}")


class _Held:
    """Holds what a process says back, until it is let go; from then on it goes to standard error."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._kept: bytearray | None = bytearray()
        threading.Thread(target=self._follow, name="spark-says", daemon=True).start()

    def let_go(self) -> bytes:
        """What was said until now."""
        with self._lock:
            kept = self._kept or bytearray()
            while not self._stream.closed and self._is_readable(0) and (data := self._read()):
                kept += data
            self._kept = None
        return bytes(kept)

    def _follow(self) -> None:
        while self._is_readable(None):
            with self._lock:
                if not self._is_readable(0):  # it was let go in between
                    continue
                data = self._read()
                if self._kept is None:
                    _show(data)
                else:
                    self._kept += data
                if not data:
                    self._stream.close()
                    return

    def _is_readable(self, timeout: int | None) -> bool:
        look = select.poll()  # not `select`, which knows low numbers of files only
        look.register(self._stream, select.POLLIN)
        return bool(look.poll(timeout))

    def _read(self) -> bytes:
        return os.read(self._stream.fileno(), _AT_ONCE)


def _show(data: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody wants to see it any more
        while data:
            data = data[os.write(_ERROR_OUTPUT, data) :]
