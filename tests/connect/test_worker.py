"""A worker's process, with a Java that does what a test wants; a real one is in tests/ksqldb/system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.connect_server import ConnectServer

from millstream.connect import detached, worker
from millstream.connect.client import ConnectClient
from millstream.connect.detached import find_worker, start_worker, stop_worker
from millstream.connect.errors import ConnectError, PortInUse
from millstream.connect.worker import ConnectWorker
from millstream.jvm.maven import Artifact

_SLEEPER = "trap 'exit 0' TERM\nwhile :; do sleep 0.05; done"
_SHARED = Path("/jars/runtime-1.jar")  # the worker has another one
_PLUGIN = Artifact("org.example", "stones", "1.0")


@pytest.fixture(autouse=True)
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "connect_jars", lambda: ([Path("/jars/runtime-2.jar")], [Path("/jars/file.jar")]))
    monkeypatch.setattr(
        worker, "plugin_jars", lambda plugin: [Path(f"/jars/{plugin.name}.jar"), Path("/jars/runtime-1.jar")]
    )


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConnectClient, "is_healthy", lambda self: True)


def _settings(directory: Path) -> dict[str, str]:
    lines = (directory / "worker.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.usefixtures("healthy")
def test_settings_and_plugins(fake_java: Callable[..., Path], tmp_path: Path) -> None:
    fake_java(_SLEEPER)
    home = tmp_path / "home"
    properties = {"value.converter": "org.example.Mine", "sasl.jaas.config": r"a \ b"}
    own = ConnectWorker(
        "broker:9092", name="ours", directory=home, plugins=[_PLUGIN], plugin_path=[tmp_path], properties=properties
    )
    for _ in range(2):  # what was laid out before is no hindrance
        with own:
            assert own.running
            settings = _settings(home)
            assert settings["bootstrap.servers"] == "broker:9092"
            assert settings["group.id"] == "ours"
            assert settings["config.storage.topic"] == "ours-configs"
            assert settings["listeners"] == own.url
            assert settings["plugin.discovery"] == "hybrid_warn"
            assert settings["value.converter"] == "org.example.Mine"
            assert settings["sasl.jaas.config"] == r"a \\ b"
            assert settings["plugin.path"] == f"{home / 'plugins'},{tmp_path}"
            assert (home / "worker.properties").stat().st_mode & 0o077 == 0
            links = {path.parent.name: path.readlink() for path in home.glob("plugins/*/*")}
            assert links == {"connect-file": Path("/jars/file.jar"), "stones": Path("/jars/stones.jar")}
        assert not own.running


@pytest.mark.usefixtures("healthy")
def test_a_temporary_directory_is_removed(fake_java: Callable[..., Path]) -> None:
    fake_java(_SLEEPER)
    own = ConnectWorker("broker:9092")
    for ask in (lambda: own.port, lambda: own.directory, lambda: own.pid):
        with pytest.raises(ConnectError, match="not "):
            ask()
    own.start()
    directory = own.directory
    assert _settings(directory)["plugin.discovery"] == "service_load"
    own.stop()
    assert not directory.exists()


def test_why_it_ends(fake_java: Callable[..., Path], tmp_path: Path) -> None:
    fake_java("echo 'no such broker'; exit 3")
    with pytest.raises(ConnectError, match=r"^Kafka Connect ended with exit code 3") as caught:
        ConnectWorker("broker:9092", directory=tmp_path / "home").start()
    assert caught.value.detail == "no such broker"


def test_a_port_in_use(fake_java: Callable[..., Path], connect_server: ConnectServer) -> None:
    fake_java(_SLEEPER)
    with pytest.raises(PortInUse, match="in use"):
        ConnectWorker("broker:9092", port=connect_server.server_port).start()


@pytest.mark.usefixtures("healthy")
def test_one_that_lives_on(fake_java: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(_SLEEPER)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert find_worker() is None
    assert stop_worker() is None
    started, is_new = start_worker("broker:9092")
    own = detached._started.pop()
    try:
        assert is_new
        assert started.directory == str(tmp_path / "millstream" / "connect")
        while find_worker() is None:  # its command line is there a moment after it
            assert own.running
        assert start_worker("broker:9092") == (started, False)
        assert find_worker() == started
        assert stop_worker() == started
        assert not own.running
        assert find_worker() is None
    finally:
        own.stop()
