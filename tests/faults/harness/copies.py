"""A copy of the application under a supervisor, who starts it again when it ends with an error, as systemd would."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from millstream.config import ProcessingMode

from .processes import COPY, KINDS, OWNER, Process, processes

_RESTART_SECONDS = 0.1
_POLL_SECONDS = 0.05
#: So many ends in a row without a result in between, and the supervisor gives up.
_ENDS = 5
_END_SECONDS = 90.0


class Copy:
    """One copy, from start to end.

    Args:
        name: of the copy; its log is called so.
        owner: who starts it.
        command: how it is started.
        mode: how it works, which says what processes it has.
        directory: for its log.
        results: how many results there are; between two of its ends there should be more.
    """

    def __init__(
        self,
        name: str,
        owner: str,
        command: Sequence[str],
        mode: ProcessingMode,
        directory: Path,
        results: Callable[[], int],
    ) -> None:
        self.name = name
        self._kinds = KINDS[mode]
        self.restarts = 0
        #: Set when it ended and is not started again.
        self.given_up = False
        self.log = directory / f"{name}.log"
        self._command = list(command)
        self._tag = f"{owner}/{directory.name}/{name}"  # of this run: others may go on beside it
        self._environment = {**os.environ, OWNER: owner, COPY: self._tag}
        self._results = results
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = 0
        self._supervised = False
        self._thread: threading.Thread | None = None

    def start(self, *, supervised: bool = True) -> None:
        """Start it, without waiting for anything."""
        self._supervised = supervised
        self._launch()
        if supervised:
            self._thread = threading.Thread(target=self._supervise, name=f"supervisor-{self.name}", daemon=True)
            self._thread.start()

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        with self._lock:
            return None if self._process is None else self._process.poll()

    @property
    def state(self) -> str:
        """The state that it said last since its last start."""
        said = [line for line in self.said().splitlines() if line.startswith("state ")]
        return said[-1].removeprefix("state ") if said else "STARTING"

    def said(self) -> str:
        """Its log since its last start."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(self._log_begins)
            return file.read().decode(errors="replace")

    def tail(self, lines: int = 40) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    # --- its processes

    def processes(self) -> list[Process]:
        """All that it started and that live."""
        return processes(COPY, self._tag)

    def of_kind(self, kind: str) -> list[Process]:
        """Its processes of a kind: driver, jvm, or one of `KINDS`."""
        with self._lock:
            own = None if self._process is None else self._process.pid
        found = self.processes()
        if kind == "driver":
            return [process for process in found if process.pid == own]
        if kind == "jvm":
            return [process for process in found if process.parent == own and "java" in process.command]
        return self._kinds[kind](found)

    # --- the end

    def abandon(self) -> None:
        """Start it no more, whatever becomes of it."""
        self._supervised = False

    def kill(self) -> None:
        """End all of it at once, as if its machine were gone."""
        self.abandon()
        while found := self.processes():
            for process in found:
                process.send(signal.SIGKILL)
            time.sleep(_POLL_SECONDS)

    def terminate(self) -> int | None:
        """Ask it to end, and wait; answers its exit code, None if it does not end."""
        self.abandon()
        with self._lock:
            process = self._process
        if process is None:
            return None
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    # --- inside

    def _launch(self) -> None:
        with self._lock, self.log.open("ab") as output:
            if not self._supervised and self._process is not None:
                return
            self._log_begins = output.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._environment,
                start_new_session=True,
            )
            # Whoever kills it does not wait for its end; somebody must.
            threading.Thread(target=self._process.wait, name="end-of-copy", daemon=True).start()

    def _supervise(self) -> None:
        ends, before = 0, self._results()
        while self._supervised:
            time.sleep(_POLL_SECONDS)
            if self.code is None:
                continue
            ends = ends + 1 if self._results() == before else 1
            before = self._results()
            if ends >= _ENDS:
                self.given_up = True
                return
            time.sleep(_RESTART_SECONDS)
            if self._supervised:
                self.restarts += 1
                self._launch()
