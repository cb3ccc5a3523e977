"""Processes on this machine: they end with their owner, unless they are to live on."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"

#: As little log as needed, where slf4j-simple writes it.
QUIET = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")

_STOP_SECONDS = 20.0
# Below the ports that systems hand out for outgoing connections. From among those, a client that keeps trying to reach
# a server that is down can be given the server's own port, and the server could not come back to it.
_PORTS = range(20_000, 32_000)

# Kills the process when the pipe closes, that is when its owner is gone, in whatever way. A kept directory deserves a
# proper shutdown; a temporary one is removed.
_GUARD = """\
gone() { n=0; while kill -0 "$1" && [ $n -lt "$2" ]; do sleep 0.1; n=$((n + 1)); done; }
read -r _
if [ -n "$2" ]; then kill -9 "$1"; gone "$1" 50; rm -rf -- "$2"; exit; fi
kill "$1"; gone "$1" 200; kill -9 "$1"
"""


class OwnedProcess:
    """A process, started at once.

    Args:
        command: what to run.
        environment: what it finds in its environment beside what is there.
        directory: where it runs.
        log: the file that its output is added to.
        detached: let it live on when this process ends.
        temporary: whether its directory goes when this process ends before it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        log: Path,
        *,
        detached: bool,
        temporary: bool,
    ) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - callers know what they start
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **environment},
                cwd=directory,
                start_new_session=True,  # Ctrl-C is for its owner, who stops it when it is no longer needed
            )
        self._guard: subprocess.Popen[bytes] | None = None
        if not detached:
            self._guard = subprocess.Popen(  # noqa: S603 - the arguments are ours
                ["/bin/sh", "-c", _GUARD, "millstream-guard", str(self.pid), str(directory) if temporary else ""],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def end(self, by: signal.Signals) -> None:
        """End it, and wait until it is gone; by force if it takes too long."""
        self._process.send_signal(by)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        guard, self._guard = self._guard, None
        if guard is not None:  # not before: should the owner die meanwhile, the process must still end
            guard.kill()
            if guard.stdin is not None:
                guard.stdin.close()
            guard.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    while True:
        port = random.choice(_PORTS)  # noqa: S311 - any will do
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    """Whether nobody listens on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def tail(log: Path, lines: int = 25) -> str:
    """The last lines of a log."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return "there is no log"
