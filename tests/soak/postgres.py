"""A PostgreSQL of a test's own, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from millstream.jvm.processes import HOST, free_port

USER, PASSWORD, DATABASE = "millstream", "not-a-secret", "postgres"
_SETTINGS = {"wal_level": "logical", "fsync": "off", "max_wal_senders": "4", "max_replication_slots": "4"}
#: Debian keeps what belongs to a version away from PATH.
_DEBIAN = "/usr/lib/postgresql"


def find_tool(name: str) -> str | None:
    """One of PostgreSQL's own programs; None if it is not installed."""
    places = sorted(Path(_DEBIAN).glob("*/bin"), reverse=True)
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, places)))


class Postgres:
    """From `with` to its end. Its data is gone then."""

    def __init__(self) -> None:
        self.port = free_port()
        self._home = Path(tempfile.mkdtemp(prefix="millstream-postgres-"))
        self._data = self._home / "data"

    def __enter__(self) -> Self:
        password = self._home / "password"
        password.write_text(PASSWORD)
        if os.geteuid() == 0:  # it does not run as root
            for path in (self._home, password):
                shutil.chown(path, "postgres")
        try:
            self._run("initdb", ["-U", USER, "-A", "scram-sha-256", f"--pwfile={password}", str(self._data)])
            settings = {**_SETTINGS, "port": str(self.port), "unix_socket_directories": str(self._home)}
            options = " ".join(f"-c {name}={value}" for name, value in settings.items())
            self._run("pg_ctl", ["-D", str(self._data), "-l", str(self._home / "log"), "-o", options, "-w", "start"])
        except BaseException:
            shutil.rmtree(self._home, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run("pg_ctl", ["-D", str(self._data), "-m", "immediate", "-w", "stop"])
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def url(self) -> str:
        """Its address for JDBC."""
        return f"jdbc:postgresql://{HOST}:{self.port}/{DATABASE}"

    def rows(self, sql: str) -> list[str]:
        """What statements answer: a line for each row, with `|` between columns."""
        command = [find_tool("psql") or "psql", "-h", HOST, "-p", str(self.port), "-U", USER, "-d", DATABASE]
        command += ["-v", "ON_ERROR_STOP=1", "-q", "-A", "-t", "-c", sql]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)  # noqa: S603
        return found.stdout.splitlines()

    def _run(self, tool: str, arguments: Sequence[str]) -> None:
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*as_user, find_tool(tool) or tool, *arguments]
        # Not captured: a server that lives on would hold the pipe open.
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._home)  # noqa: S603
