"""A real Kafka Connect on this machine: one worker in distributed mode, on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from millstream.connect.access import ConnectAccess
from millstream.connect.client import ConnectClient
from millstream.connect.errors import ConnectError, PortInUse
from millstream.connect.jars import connect_jars, lay_out, plugin_jars, without
from millstream.jvm.java import find_java
from millstream.jvm.maven import Artifact
from millstream.jvm.processes import HOST, QUIET, OwnedProcess, free_port, is_free, tail

#: In its directory: what it was started with.
SETTINGS_FILE = "worker.properties"

_START_SECONDS = 90.0
_POLL_SECONDS = 0.1
_HEAP = ("-Xmx512m", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1")  # it copies: quick to start is worth more
_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"

_PROPERTIES = {
    # What SQL's FORMAT 'JSON' reads and writes; connectors may have others.
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    # As many copies as the brokers keep of any topic.
    "config.storage.replication.factor": "-1",
    "offset.storage.replication.factor": "-1",
    "status.storage.replication.factor": "-1",
    # Fewer partitions are made in less time.
    "offset.storage.partitions": "4",
    "status.storage.partitions": "2",
    # It is alone: nobody comes back whose tasks would have to wait.
    "scheduled.rebalance.max.delay.ms": "0",
    "offset.flush.interval.ms": "1000",
    # After a kill, Kafka gives a sink's partitions to the next one when it has missed the old one for so long.
    "consumer.session.timeout.ms": "10000",
    # Nothing twice after a crash, where a connector can do so; and what was taken back reaches no sink.
    "exactly.once.source.support": "enabled",
    "consumer.isolation.level": "read_committed",
}


class ConnectWorker:
    """A Kafka Connect of one's own: a child process that ends with its owner.

    Jars are fetched when they are needed for the first time. As a context manager it starts and stops:

        with ConnectWorker("localhost:9092") as worker:
            print(worker.client.plugins())

    Args:
        bootstrap_servers: of the Kafka that connectors read and write, and that Connect keeps its own topics in.
        name: of the Connect cluster: its group, and the beginning of the names of its topics.
        directory: where its settings and its log, `connect.log`, are. None is a temporary directory that is removed by
            `stop`. What connectors have done is in Kafka.
        port: for REST; a free one unless given.
        plugins: connectors to fetch from Maven beside those for files.
        plugin_path: directories with plug-ins in directories of their own, as Connect's `plugin.path` wants them.
        properties: properties of the worker to add or to replace.
        detached: let it live on when this process ends.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        name: str = "connect",
        directory: Path | None = None,
        port: int | None = None,
        plugins: Sequence[Artifact] = (),
        plugin_path: Sequence[Path] = (),
        properties: Mapping[str, str] | None = None,
        detached: bool = False,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._name = name
        self._given_directory = directory
        self._directory = directory
        self._given_port = port
        self._port: int | None = None
        self._plugins = tuple(plugins)
        self._plugin_path = tuple(plugin_path)
        self._properties = dict(properties or {})
        self._detached = detached
        self._process: OwnedProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port of its REST API."""
        port = self._port or self._given_port
        if port is None:
            raise ConnectError("the worker was not started", hint="call start() first")
        return port

    @property
    def url(self) -> str:
        """Where its REST API is."""
        return f"http://{HOST}:{self.port}"

    @property
    def client(self) -> ConnectClient:
        """A client of its REST API."""
        return ConnectClient(ConnectAccess(self.url))

    @property
    def pid(self) -> int:
        """The id of its process."""
        if self._process is None:
            raise ConnectError("the worker is not running", hint="call start() first")
        return self._process.pid

    @property
    def directory(self) -> Path:
        """Where its settings and its log are."""
        if self._directory is None:
            raise ConnectError("the worker was not started", hint="call start() first")
        return self._directory

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.exit_code is None

    def start(self) -> None:
        """Start it and wait until it answers. A worker that runs is left as it is."""
        if self.running:
            return
        java = find_java()
        jars, files = connect_jars()
        plugins = [("connect-file", files)]
        plugins += [(plugin.name, without(plugin_jars(plugin), jars)) for plugin in self._plugins]
        if self._given_port is not None and not is_free(self._given_port):
            raise PortInUse(f"port {self._given_port} is in use", hint="choose another one")
        self._port = self._given_port or self._port or free_port()
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="millstream-connect-"))
        self._directory.mkdir(parents=True, exist_ok=True)
        lay_out(plugins, self._directory / "plugins")
        log = self._directory / "connect.log"
        self._process = OwnedProcess(
            [java, *_HEAP, *QUIET, _MAIN, str(self._write_settings())],
            {"CLASSPATH": os.pathsep.join(map(str, jars))},  # not in the command line, which stays readable in `ps`
            self._directory,
            log,
            detached=self._detached,
            temporary=self._given_directory is None,
        )
        try:
            self._wait(log)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it properly, and remove its directory if that is a temporary one. Connectors go on at the next start."""
        self._end(signal.SIGTERM)
        if self._given_directory is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def kill(self) -> None:
        """End it at once (SIGKILL). `start` starts it again, on the same port."""
        self._end(signal.SIGKILL)

    def _end(self, by: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end(by)

    def _write_settings(self) -> Path:
        paths = [str(self.directory / "plugins"), *map(str, self._plugin_path)]
        if "plugin.path" in self._properties:
            paths.append(self._properties["plugin.path"])
        # Who is not declared must be looked for, which takes seconds: not worth it where there are only our own.
        is_plain = not self._plugins and len(paths) == 1
        settings = {
            "plugin.discovery": "service_load" if is_plain else "hybrid_warn",
            "bootstrap.servers": self._bootstrap_servers,
            "group.id": self._name,
            "config.storage.topic": f"{self._name}-configs",
            "offset.storage.topic": f"{self._name}-offsets",
            "status.storage.topic": f"{self._name}-status",
            "client.id": self._name,
            "listeners": f"http://{HOST}:{self.port}",
            **_PROPERTIES,
            **self._properties,
            "plugin.path": ",".join(paths),
        }
        path = self.directory / SETTINGS_FILE
        path.touch(mode=0o600)  # properties may have passwords
        path.write_text("".join(f"{name}={_escaped(value)}\n" for name, value in settings.items()), encoding="utf-8")
        return path

    def _wait(self, log: Path) -> None:
        """Wait until the worker has joined its group and answers."""
        assert self._process is not None  # noqa: S101 - set by the caller
        deadline = time.monotonic() + _START_SECONDS
        client = self.client
        while not client.is_healthy():
            if self._process.exit_code is not None:
                raise ConnectError(
                    f"Kafka Connect ended with exit code {self._process.exit_code}",
                    detail=tail(log),
                    hint="see its log above for the reason",
                )
            if time.monotonic() > deadline:
                raise ConnectError(
                    f"Kafka Connect does not answer after {_START_SECONDS:.0f} seconds", detail=tail(log)
                )
            time.sleep(_POLL_SECONDS)


def _escaped(value: str) -> str:
    """A value as Java's property files have it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")
