"""A real Apache Kafka for development: one process that is broker and controller, on 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millstream.jvm.java import find_java
from millstream.jvm.processes import HOST, QUIET, OwnedProcess, free_port, is_free, tail
from millstream.kafka.errors import DevBrokerError
from millstream.kafka.jars import kafka_jars

#: In its directory: what it was started with.
SETTINGS_FILE = "server.properties"

_START_SECONDS = 60.0
_POLL_SECONDS = 0.05
_PORT_TRIES = 5

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    # Not three seconds, but long enough for members that come at the same time: nothing has to move at once then.
    "group.initial.rebalance.delay.ms": "50",
    # A broker alone can hold one copy.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Fewer partitions are made in less time.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    # People try things with old timestamps; records must not vanish because of that.
    "log.retention.ms": "-1",
    # Nor by compaction: the mark of a commit has today's time, which would close a segment of old records at once.
    "log.roll.ms": str(2**63 - 1),
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    # After a kill the controller must see soon that the old process is gone.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
}

_HEAP = ("-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
_BRIEF = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # for a program that ends after a second


class DevBroker:
    """An Apache Kafka of one's own: a child process that ends with its owner.

    The jars are fetched when they are needed for the first time. As a context manager it starts and stops:

        with DevBroker() as broker:
            client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    Args:
        directory: where it keeps its data and its log, `broker.log`; they are there again next time. None is a
            temporary directory that is removed by `stop`.
        properties: broker properties to add or to replace.
        port: the port for clients; a free one unless given.
        detached: let it live on when this process ends.
        users: names and passwords. With some, it has one more listener that asks for them, for trying out credentials:
            `secure_bootstrap_servers` (security.protocol sasl_plaintext, sasl.mechanism PLAIN).
    """

    def __init__(
        self,
        directory: Path | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
        detached: bool = False,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self._given_directory = directory
        self._directory = directory
        self._properties = dict(properties or {})
        self._given_port = port
        self._ports: tuple[int, int, int] | None = None
        self._detached = detached
        self._users = dict(users or {})
        self._process: OwnedProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients, `127.0.0.1:<port>`."""
        return f"{HOST}:{self.port}"

    @property
    def port(self) -> int:
        """The port for clients."""
        if self._ports is None:
            raise DevBrokerError("the broker was not started", hint="call start() first")
        return self._ports[0]

    @property
    def secure_bootstrap_servers(self) -> str:
        """The address for clients with credentials."""
        if self._ports is None or not self._users:
            raise DevBrokerError("the broker has no secure listener", hint="give it users, and call start() first")
        return f"{HOST}:{self._ports[2]}"

    @property
    def pid(self) -> int:
        """The id of the broker's process."""
        if self._process is None:
            raise DevBrokerError("the broker is not running", hint="call start() first")
        return self._process.pid

    @property
    def directory(self) -> Path:
        """Where it keeps its data and its log."""
        if self._directory is None:
            raise DevBrokerError("the broker was not started", hint="call start() first")
        return self._directory

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.exit_code is None

    def start(self) -> None:
        """Start it and wait until it answers. A broker that runs is left as it is."""
        if self.running:
            return
        java = find_java()
        classpath = os.pathsep.join(str(jar) for jar in kafka_jars())
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="millstream-broker-"))
        self._directory.mkdir(parents=True, exist_ok=True)
        try:
            self._start(java, classpath)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it properly, and remove its directory if that is a temporary one."""
        self._end(signal.SIGTERM)
        if self._given_directory is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def kill(self) -> None:
        """End it at once (SIGKILL). Its data stays, for `restart`."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Start it again, on the same ports and data; stop it first if it runs."""
        if self._ports is None or self._directory is None:
            raise DevBrokerError("the broker was not started", hint="call start() first")
        self._end(signal.SIGTERM)
        self.start()

    def _start(self, java: str, classpath: str) -> None:
        chosen = self._ports is None
        for attempt in range(1, _PORT_TRIES + 1):
            if self._ports is None:
                if self._given_port is not None and not is_free(self._given_port):
                    raise DevBrokerError(f"port {self._given_port} is in use", hint="choose another one")
                self._ports = (self._given_port or free_port(), free_port(), free_port())
            self._launch(java, classpath)
            try:
                self._wait()
                break
            except DevBrokerError as error:
                taken = "Address already in use" in (error.detail or "")
                if not taken or not chosen or self._given_port is not None or attempt == _PORT_TRIES:
                    raise
                self._end(signal.SIGKILL)  # someone was faster; take other ports
                self._ports = None

    def _launch(self, java: str, classpath: str) -> None:
        assert self._directory is not None  # noqa: S101 - set by start
        settings = self._write_settings()
        data = self._directory / "data"
        log = self._directory / "broker.log"
        # -cp by environment: the command line stays readable in `ps`.
        environment = {"CLASSPATH": classpath}
        if not (data / "meta.properties").exists():
            cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_")
            command = [java, *_BRIEF, *QUIET, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
            with log.open("ab") as output:
                formatted = subprocess.run(  # noqa: S603 - java was found and the rest is ours
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **environment},
                    check=False,
                )
            if formatted.returncode != 0:
                raise DevBrokerError(
                    f"the broker's directory {data} cannot be set up", detail=tail(log), hint="see its properties"
                )
        self._process = OwnedProcess(
            [java, *_HEAP, *QUIET, "kafka.Kafka", str(settings)],
            environment,
            self._directory,
            log,
            detached=self._detached,
            temporary=self._given_directory is None,
        )

    def _write_settings(self) -> Path:
        assert self._ports is not None  # noqa: S101 - set by the caller
        assert self._directory is not None  # noqa: S101
        client, controller, secure = self._ports
        advertised = f"PLAINTEXT://{HOST}:{client}"
        settings = dict(_PROPERTIES)
        if self._users:
            advertised += f",SECURE://{HOST}:{secure}"
            settings["listener.security.protocol.map"] += ",SECURE:SASL_PLAINTEXT"
            users = " ".join(f'user_{name}="{password}"' for name, password in self._users.items())
            login = f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
            settings |= {"sasl.enabled.mechanisms": "PLAIN", "listener.name.secure.plain.sasl.jaas.config": login}
        settings |= {
            "listeners": f"{advertised},CONTROLLER://{HOST}:{controller}",
            "advertised.listeners": advertised,
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "log.dirs": str(self._directory / "data"),
            **self._properties,
        }
        path = self._directory / SETTINGS_FILE
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
        return path

    def _wait(self) -> None:
        """Wait until the broker answers."""
        assert self._process is not None  # noqa: S101 - set by the caller
        log = self.directory / "broker.log"
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(self.bootstrap_servers):
            if self._process.exit_code is not None:
                raise DevBrokerError(
                    f"the broker ended with exit code {self._process.exit_code}",
                    detail=tail(log),
                    hint="see its log above for the reason",
                )
            if time.monotonic() > deadline:
                raise DevBrokerError(f"the broker does not answer after {_START_SECONDS:.0f} seconds", detail=tail(log))
            time.sleep(_POLL_SECONDS)

    def _end(self, by: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end(by)


def _answers(bootstrap_servers: str) -> bool:
    host, port = bootstrap_servers.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()  # librdkafka would wait before it tries again
    except OSError:
        return False
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    try:
        return bool(client.list_topics(timeout=5).brokers)
    except KafkaException:
        return False
