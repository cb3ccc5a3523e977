"""A real Kafka for tests, and short ways to use it.

One broker serves all processes of a test run. It is started by the first test that asks for it; a guard ends it when
the test run is over, however that ends.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from hypothesis import settings

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic

from .connect_server import ConnectServer
from .registry_server import RegistryServer

# The same examples every time: a run says something about a change, not about chance. `make soak` takes others.
settings.register_profile("steady", derandomize=True, deadline=None)  # a busy machine is no failure
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

Server = TypeVar("Server", bound=ThreadingHTTPServer)

WAIT_SECONDS = 30.0
_GUARD = '(while kill -0 "$1"; do sleep 1; done; kill -9 "$2"; rm -rf -- "$3") >/dev/null 2>&1 </dev/null &'


@pytest.fixture(scope="session")
def broker_state_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The XDG_STATE_HOME under which the run's broker is known, also to `millstream broker`."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def broker(broker_state_home: Path) -> DetachedBroker:
    """The run's broker: `bootstrap_servers`, `port`, `pid`, `directory`. Tests must neither stop nor kill it."""
    environment = {**os.environ, "XDG_STATE_HOME": str(broker_state_home)}
    command = [sys.executable, "-m", "millstream.cli", "broker", "start", "--port", "0"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - it is ours
    state = json.loads((broker_state_home / "millstream" / "broker.json").read_bytes())
    found = DetachedBroker(**state)
    run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    subprocess.run(  # noqa: S603 - the arguments are ours
        ["/bin/sh", "-c", _GUARD, "guard", str(run), str(found.pid), found.directory],
        check=True,
        start_new_session=True,
    )
    return found


@pytest.fixture(scope="session")
def admin(broker: DetachedBroker) -> Admin:
    """An admin client of the run's broker."""
    return Admin(StreamsConfig(application_id="tests", bootstrap_servers=broker.bootstrap_servers))


@pytest.fixture(scope="session")
def make_topic(admin: Admin) -> Callable[..., str]:
    """`make_topic(partitions=1, name="topic", **config)` makes a topic with a name of its own and returns that."""

    def make(partitions: int = 1, *, name: str = "topic", **config: str) -> str:
        full = f"{name}-{uuid.uuid4().hex[:12]}"
        settings = {option.replace("_", "."): value for option, value in config.items()}
        admin.create_topics([NewTopic(full, partitions, settings)])
        return full

    return make


@pytest.fixture(scope="session")
def produce(broker: DetachedBroker) -> Iterator[Callable[..., None]]:
    """`produce(topic, [(key, value), (key, value, timestamp) ...], partition=None)`; text is encoded."""
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random", "linger.ms": 5}
    )

    def send(topic: str, records: Iterable[tuple[Any, ...]], partition: int | None = None) -> None:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        options: dict[str, Any] = {} if partition is None else {"partition": partition}
        for key, value, *timestamp in records:
            more = {"timestamp": timestamp[0]} if timestamp else {}
            producer.produce(topic, value, key, on_delivery=delivered, **options, **more)
            producer.poll(0)
        assert producer.flush(WAIT_SECONDS) == 0
        if failed:
            raise KafkaException(failed[0])

    yield send
    producer.flush(WAIT_SECONDS)


@pytest.fixture
def consume(broker: DetachedBroker, admin: Admin) -> Callable[..., list[Message]]:
    """`consume(topic, count=None, timeout=30)`: committed records of all partitions, from the beginning.

    With a count it waits until there are so many; without, it takes what is there, and waits for transactions that are
    still open. Order is that of each partition.
    """

    def read(topic: str, count: int | None = None, timeout: float = WAIT_SECONDS) -> list[Message]:
        partitions = [(topic, number) for number in range(admin.require_topics([topic])[topic])]
        end = admin.end_offsets(partitions, committed=False)  # a commit is seen a little after it was made
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": f"tests-{uuid.uuid4().hex}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
            }
        )
        try:
            waiting = {at for at in partitions if count is not None or end[at] > 0}
            consumer.assign([TopicPartition(*at, 0) for at in sorted(waiting)])
            found: list[Message] = []
            while len(found) < count if count is not None else waiting:
                message = consumer.poll(timeout)
                assert message is not None, f"{len(found)} records in {topic}, and no more in {timeout} seconds"
                error, at = message.error(), (message.topic() or "", message.partition() or 0)
                if error is None:
                    found.append(message)
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                elif count is None and consumer.position([TopicPartition(*at)])[0].offset >= end[at]:
                    waiting.discard(at)
            return found
        finally:
            consumer.close()

    return read


@pytest.fixture
def schema_registry() -> Iterator[RegistryServer]:
    """A schema registry over HTTP."""
    with serving(RegistryServer()) as running:
        yield running


@pytest.fixture
def connect_server() -> Iterator[ConnectServer]:
    """What answers as Kafka Connect, in a test's words."""
    with serving(ConnectServer()) as running:
        yield running


@contextmanager
def serving(server: Server, certificate: tuple[Path, Path] | None = None) -> Iterator[Server]:
    """Have a server answer in a thread; with a certificate and its key, over TLS."""
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """`fake_java(script, version)` sets JAVA_HOME to a java that runs a shell script; $0.d is a directory for it."""

    def make(script: str, version: str = "17.0.1") -> Path:
        java = tmp_path / "java-home" / "bin" / "java"
        java.parent.mkdir(parents=True, exist_ok=True)
        java.with_name("java.d").mkdir(exist_ok=True)
        say = f"""if [ "$1" = -version ]; then echo 'openjdk version "{version}"' >&2; exit; fi"""
        java.write_text(f"#!/bin/sh\n{say}\n{script}\n", encoding="utf-8")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java-home"))
        return java

    return make
