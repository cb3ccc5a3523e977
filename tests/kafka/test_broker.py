"""A broker of one's own: it starts, survives a kill, asks for credentials and ends with its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from millstream.config import StreamsConfig
from millstream.kafka import broker as module
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.detached import DetachedBroker, find_detached, start_detached, stop_detached
from millstream.kafka.errors import AuthenticationFailed, BrokerUnavailable, DevBrokerError
from millstream.kafka.topics import NewTopic

# Stands for a broker: says something when it is started, and ends when it is told to.
_SLEEPER = """
case "$*" in *StorageTool*) exit 0;; esac
trap 'exit 0' TERM
touch "$0.d/started"
while :; do sleep 0.05; done
"""


@pytest.fixture(scope="module")
def own() -> Iterator[DevBroker]:
    with DevBroker(users={"ann": "secret-of-ann"}) as found:
        yield found


def _credentials(user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
    }


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A process whose parent is gone waits for init, which some containers lack.
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_credentials(own: DevBroker) -> None:
    servers = own.secure_bootstrap_servers
    right = StreamsConfig(bootstrap_servers=servers, client=_credentials("ann", "secret-of-ann"))
    assert Admin(right).topics() == {}
    wrong = StreamsConfig(bootstrap_servers=servers, client=_credentials("ann", "guess"))
    with pytest.raises(AuthenticationFailed, match=r"^cannot list topics: the broker refuses it") as caught:
        Admin(wrong).topics()
    assert "guess" not in str(caught.value)
    with pytest.raises(AuthenticationFailed):
        Admin(wrong).commit_offsets({("t", 0): 1})


def test_killed_and_back(own: DevBroker) -> None:
    config = StreamsConfig(bootstrap_servers=own.bootstrap_servers)
    admin = Admin(config)
    admin.create_topics([NewTopic("kept", 3)])
    address, pid = own.bootstrap_servers, own.pid
    own.kill()
    assert not own.running
    assert _gone(pid)
    with pytest.raises(BrokerUnavailable, match="no broker answers") as caught:
        Admin(config, timeout=timedelta(milliseconds=300)).topics()
    assert address in str(caught.value.detail)
    own.restart()
    assert own.bootstrap_servers == address
    assert own.pid != pid
    assert admin.topics() == {"kept": 3}  # the client comes back by itself


def test_old_records_stay_beside_the_marks_of_commits(broker: DetachedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic(cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(30)
    for number in range(3):
        producer.begin_transaction()
        producer.produce(topic, str(number), "key", timestamp=1_000 + number)
        producer.commit_transaction(30)
    # The active segment is never compacted.
    assert len(list(Path(broker.directory, "data", f"{topic}-0").glob("*.log"))) == 1


def test_why_it_ends(fake_java: Callable[..., Path], broker: DetachedBroker, tmp_path: Path) -> None:
    fake_java('case "$*" in *StorageTool*) exit 0;; esac; echo "no space left"; exit 7')
    own = DevBroker(tmp_path / "data")
    with pytest.raises(DevBrokerError, match=r"^the broker ended with exit code 7") as caught:
        own.start()
    assert caught.value.detail == "no space left"
    assert not own.running


def test_a_directory_it_cannot_use(fake_java: Callable[..., Path], broker: DetachedBroker, tmp_path: Path) -> None:
    fake_java("echo bad property; exit 1")
    with pytest.raises(DevBrokerError, match="cannot be set up") as caught:
        DevBroker(tmp_path / "data", {"node.id": "x"}).start()
    assert caught.value.detail == "bad property"


def test_a_port_in_use(broker: DetachedBroker, tmp_path: Path) -> None:
    with pytest.raises(DevBrokerError, match=rf"^port {broker.port} is in use"):
        DevBroker(tmp_path, port=broker.port).start()


def test_before_it_is_started() -> None:
    own = DevBroker()
    own.stop()
    for ask in (lambda: own.bootstrap_servers, lambda: own.pid, lambda: own.directory, own.restart):
        with pytest.raises(DevBrokerError, match="not "):
            ask()


def test_a_temporary_directory_is_removed(
    fake_java: Callable[..., Path], broker: DetachedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(_SLEEPER)
    monkeypatch.setattr(module, "_answers", lambda servers: True)
    own = DevBroker(properties={"log.roll.ms": "1"})
    own.start()
    directory, pid = own.directory, own.pid
    assert "log.roll.ms=1\n" in (directory / "server.properties").read_text()
    own.stop()
    assert not directory.exists()
    assert _gone(pid)


@pytest.mark.parametrize("kept", [False, True])
def test_it_ends_with_its_owner(
    fake_java: Callable[..., Path], broker: DetachedBroker, tmp_path: Path, kept: bool
) -> None:
    fake_java(_SLEEPER)
    directory = f"Path({str(tmp_path / 'data')!r})" if kept else "None"
    script = f"""
from pathlib import Path
import millstream.kafka.broker as module
module._answers = lambda servers: True
broker = module.DevBroker({directory})
broker.start()
print(broker.pid, broker.directory, flush=True)
input()
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:  # noqa: S603
        assert owner.stdout is not None
        pid, place = owner.stdout.readline().split()
        owner.send_signal(signal.SIGKILL)
    _until(lambda: _gone(int(pid)) and Path(place).exists() == kept)


def test_detached(
    fake_java: Callable[..., Path], broker: DetachedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = fake_java(_SLEEPER)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # Before that, the process may not yet show what it is.
    monkeypatch.setattr(module, "_answers", lambda servers: (java.with_name("java.d") / "started").exists())
    assert find_detached() is None
    assert stop_detached() is None
    started, new = start_detached()
    assert new
    assert started.directory == str(tmp_path / "state" / "millstream" / "broker")
    assert find_detached() == started
    assert start_detached(port=1) == (started, False)
    assert stop_detached() == started
    assert find_detached() is None
    assert _gone(started.pid)
