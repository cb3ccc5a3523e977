"""Workers of Kafka Connect that a server, or a command, runs."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from tests.ksqldb.system.conftest import PATIENT
from tests.ksqldb.system.server_process import ServerProcess

from millstream.connect.access import ConnectAccess
from millstream.connect.client import ConnectClient
from millstream.jvm.processes import free_port, is_free
from millstream.kafka.detached import DetachedBroker


def test_one_that_a_server_runs_for_itself(broker: DetachedBroker, tmp_path: Path) -> None:
    name, port = f"t{uuid.uuid4().hex[:8]}", free_port()
    file = tmp_path / "worker.properties"
    file.write_text(
        f"bootstrap.servers = {broker.bootstrap_servers}\ngroup.id = {name}\nlisteners = http://127.0.0.1:{port}\n"
        f"config.storage.topic = {name}-c\noffset.storage.topic = {name}-o\nstatus.storage.topic = {name}-s\n"
    )
    options = [*PATIENT, "--set", f"ksql.connect.worker.config={file}"]
    server = ServerProcess(broker.bootstrap_servers, name, tmp_path / "server.log", options).wait()
    try:
        (plugins,) = server.ksql("SHOW CONNECTOR PLUGINS;")
        assert any(each["className"].endswith("FileStreamSinkConnector") for each in plugins["connectorsPlugins"])
        (topics,) = server.ksql("SHOW TOPICS;")
        assert {f"{name}-c", f"{name}-o", f"{name}-s"} <= {each["name"] for each in topics["topics"]}
        # Where somebody listens already, that one is asked.
        other = ServerProcess(broker.bootstrap_servers, f"{name}b", tmp_path / "other.log", options).wait()
        assert server.ksql("SHOW CONNECTORS;") == other.ksql("SHOW CONNECTORS;")
        assert other.stop() == 0
        assert "Kafka Connect seems to run already" in (tmp_path / "other.log").read_text()
        assert not is_free(port)
        assert server.stop() == 0
        assert is_free(port)
    finally:
        server.kill()


def test_one_that_a_command_runs(broker: DetachedBroker, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}

    def connect(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "millstream.cli", "connect", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        return done.returncode, done.stdout + done.stderr

    start = ("start", "--bootstrap-servers", broker.bootstrap_servers)
    try:
        code, told = connect(*start, "--port", "0", "--set", "header.converter=none.Such")
        assert (code, "Kafka Connect ended with exit code" in told) == (1, True), told
        code, told = connect(*start, "--port", "0")
        assert (code, told.startswith("Kafka Connect runs at http://127.0.0.1:")) == (0, True), told
        url = told.splitlines()[0].split()[-1]
        assert ConnectClient(ConnectAccess(url)).names() == []
        code, told = connect("status")
        assert (code, told.splitlines()[0]) == (0, f"Kafka Connect runs at {url}")
        assert connect(*start)[1].startswith(f"Kafka Connect was already running at {url}")
        code, told = connect(*start, "--plugin", "org.example:stones:1.0")
        assert (code, "another worker runs already" in told) == (1, True)
    finally:
        code, told = connect("stop")
    assert told == f"Kafka Connect at {url} is stopped\n"
    assert connect("status") == (3, "no worker is running\n")
