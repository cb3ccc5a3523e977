"""Servers on the real broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from millstream.config import StreamsConfig
from millstream.connect.worker import ConnectWorker
from millstream.jvm.processes import free_port
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.group_admin import GroupAdmin

from .server_process import ServerProcess, until

Serve = Callable[..., ServerProcess]
#: A busy machine takes its time; the answer to a statement waits for it.
PATIENT = ("--set", "ksql.server.command.response.timeout.ms=60000")
FUNCTIONS = Path(__file__).with_name("functions.py")


@pytest.fixture(scope="session")
def groups(broker: DetachedBroker) -> Iterator[GroupAdmin]:
    """The groups and topics of the broker."""
    with closing(GroupAdmin(StreamsConfig(bootstrap_servers=broker.bootstrap_servers))) as found:
        yield found


@pytest.fixture
def service() -> str:
    """The id of a service that no other test has."""
    return _unique()


@pytest.fixture
def serve(broker: DetachedBroker, service: str, tmp_path: Path) -> Iterator[Serve]:
    """`serve(*options)`: one server more of the test's service. It is starting: `wait` says when it is there."""
    started: list[ServerProcess] = []

    def begin(*options: str) -> ServerProcess:
        log = tmp_path / f"server-{len(started)}.log"
        started.append(ServerProcess(broker.bootstrap_servers, service, log, [*PATIENT, *options]))
        return started[-1]

    yield begin
    for server in started:
        server.kill()
        print(server.log.name, server.log.read_text(), sep="\n")


@pytest.fixture(scope="session")
def connect_port() -> int:
    """Where the shared server looks for Kafka Connect; nobody is there unless a test asks for `worker`."""
    return free_port()


@pytest.fixture(scope="session")
def worker(broker: DetachedBroker, connect_port: int) -> Iterator[ConnectWorker]:
    """Kafka Connect for the shared server."""
    with ConnectWorker(broker.bootstrap_servers, name=_unique(), port=connect_port) as found:
        yield found


@pytest.fixture(scope="session")
def running(
    broker: DetachedBroker, connect_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """A server that tests share; it has the user functions of `functions.py`."""
    log = tmp_path_factory.mktemp("server") / "server.log"
    options = [*PATIENT, "--functions", str(FUNCTIONS), "--set", f"ksql.connect.url=http://127.0.0.1:{connect_port}"]
    server = ServerProcess(broker.bootstrap_servers, _unique(), log, options)
    yield server.wait()
    assert server.stop() == 0, log.read_text()
    until(lambda: not server.processes(), 15)


@pytest.fixture
def name() -> str:
    """A name for sources and topics that no other test has."""
    return _unique()


def _unique() -> str:
    return f"t{uuid.uuid4().hex[:8]}"
