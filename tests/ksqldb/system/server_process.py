"""A server as people run it: a process of its own, with a JVM and lanes below it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

EARLIEST = {"auto.offset.reset": "earliest"}
START_SECONDS = 90.0
WAIT_SECONDS = 60.0
#: Ends a server when this process is gone, or is gone itself when the server is. The JVM and lanes end with it.
_GUARD = """
(while kill -0 "$1" && kill -0 "$2"; do sleep 1; done; kill -0 "$1" || kill -9 "$2") >/dev/null 2>&1 </dev/null &
"""


def until(condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> Any:
    """What a condition says, once that is something."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.1)
    return found


class Refused(Exception):
    """A server refused a request.

    Args:
        status: of HTTP.
        body: what the server said, as JSON if it is.
    """

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


class Client:
    """Requests to a server, one after the other.

    Args:
        url: where it is.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        #: Sent with every request.
        self.headers = {"accept": "application/json"}

    def ksql(self, sql: str, **more: Any) -> list[Any]:
        """Execute statements."""
        found: list[Any] = self.post("/ksql", {"ksql": sql, "streamsProperties": EARLIEST, **more})
        return found

    def rows(self, sql: str, **properties: str) -> list[Any]:
        """The rows that a query answers, when it ends."""
        found: list[Any] = self.post("/query-stream", {"sql": sql, "properties": {**EARLIEST, **properties}})
        return found[1:]

    def post(self, path: str, body: Any) -> Any:
        """The JSON that a server answers."""
        status, answer = self.request("POST", path, json.dumps(body).encode())
        found = json.loads(answer) if answer else None
        if status != 200:
            raise Refused(status, found)
        return found

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=WAIT_SECONDS)
        try:
            connection.request(method, path, body, self.headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def queries(self) -> dict[str, str]:
        """The states of the persistent queries by their ids."""
        (entity,) = self.ksql("SHOW QUERIES;")
        return {query["id"]: query["state"] for query in entity["queries"] if query["queryType"] == "PERSISTENT"}

    def sources(self) -> dict[str, tuple[str, ...]]:
        """What is told of streams and tables, by their names."""
        streams, tables = self.ksql("SHOW STREAMS; SHOW TABLES;")
        return {
            source["name"]: tuple(str(source[name]) for name in ("type", "topic", "keyFormat", "valueFormat"))
            for source in (*streams["streams"], *tables["tables"])
        }

    def is_ready(self) -> bool:
        """Whether it takes statements."""
        try:
            return self.request("GET", "/info")[0] == 200
        except OSError:
            return False


class ServerProcess(Client):
    """Starts a server; `wait` says when it is there.

    Args:
        servers: where the brokers are.
        service: the service's id.
        log: the file that has what it tells.
        options: more of `millstream server`.
    """

    def __init__(self, servers: str, service: str, log: Path, options: Sequence[str] = ()) -> None:
        super().__init__("")
        self.log = log
        command = [sys.executable, "-m", "millstream.cli", "server", "--port", "0", "--bootstrap-servers", servers]
        command += ["--service-id", service, *options]
        with log.open("ab") as told:
            self.process = subprocess.Popen(  # noqa: S603 - it is ours
                command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, start_new_session=True
            )
        subprocess.run(  # noqa: S603 - the arguments are ours
            ["/bin/sh", "-c", _GUARD, "guard", str(os.getpid()), str(self.process.pid)],
            check=True,
            start_new_session=True,
        )

    def wait(self) -> ServerProcess:
        """Until it takes statements."""
        found = until(lambda: self.process.poll() is not None or self._address(), START_SECONDS)
        assert found is not True, self.log.read_text()
        self.url = found
        until(self.is_ready)
        return self

    def _address(self) -> str | None:
        found = re.search(r"is at (http\S+)", self.log.read_text())
        return found[1] if found else None

    def processes(self) -> set[int]:
        """All of its processes: itself, the JVM, lanes. They stay in its session, whoever their parent is."""
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    state, _, _, session = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:4]
                except OSError:
                    continue
                if int(session) == self.process.pid and state != "Z":
                    found.add(int(entry.name))
        return found

    def kill(self) -> None:
        """`kill -9` all of it."""
        while found := self.processes():
            for process in found:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.process.wait()

    def kill_driver(self) -> None:
        """`kill -9` the process that people have started, and nothing else."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_SECONDS)
