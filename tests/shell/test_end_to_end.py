"""A real server on a real broker, asked by the shell; and by the command, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.config import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.shell.client import KsqlClient
from millstream.shell.embedded import embedded_server
from millstream.shell.errors import ServerRefused
from millstream.shell.shell import Shell

from .conftest import Shown


@pytest.fixture(scope="module")
def server(broker: DetachedBroker) -> Iterator[KsqlClient]:
    config = StreamsConfig(bootstrap_servers=broker.bootstrap_servers)
    with embedded_server(config, {"ksql.service.id": f"shell_{uuid.uuid4().hex[:8]}_"}) as client:
        yield client


def test_a_session(server: KsqlClient, tmp_path: Path) -> None:
    shown, topic = Shown(), f"orders-{uuid.uuid4().hex[:8]}"
    shell = Shell(server, shown.screen)
    script, spooled = tmp_path / "setup.sql", tmp_path / "spooled.txt"
    script.write_text(
        "-- what the rest needs\n"
        f"DEFINE topic = '{topic}';\n"
        "CREATE STREAM orders (id STRING KEY, amount DECIMAL(6, 2))\n"
        "  WITH (kafka_topic='${topic}', value_format='JSON', partitions=1);\n"
        "INSERT INTO orders VALUES ('a', 1.50);\n"
        "INSERT INTO orders VALUES ('b', 20);\n"
    )
    shell.run(f"RUN SCRIPT '{script}';")
    assert shown.lines == ["Stream created"]
    shell.run("SHOW VARIABLES;")
    assert shown.lines[-1].split() == ["topic", topic]
    shell.run("SET 'auto.offset.reset' = 'earliest';")
    shell.run(f"SPOOL '{spooled}'")
    shell.run("SELECT id, amount FROM orders EMIT CHANGES LIMIT 2;")
    shell.run("SPOOL OFF")
    assert [line.replace(" ", "") for line in shown.lines[-3:]] == ["a|1.50", "b|20.00", "LimitReached"]
    assert spooled.read_text().splitlines()[0] == "ksql> SELECT id, amount FROM orders EMIT CHANGES LIMIT 2;"
    assert "Limit Reached" in spooled.read_text()
    shell.run("SELECT amount FROM orders WHERE id = 'b';")  # a pull of a stream
    assert "20.00" in shown.lines
    shell.run(f"PRINT '{topic}' FROM BEGINNING LIMIT 1;")
    assert shown.lines[-1].endswith('key: a, value: {"AMOUNT":1.50}, partition: 0')
    shell.run("DESCRIBE orders;")
    assert shown.lines[-1].split(maxsplit=1) == ["AMOUNT", "DECIMAL(6, 2)"]
    with pytest.raises(ServerRefused) as caught:
        shell.run("SELECT *\n FRM orders;")
    assert "FRM orders" in (caught.value.detail or "")
    assert "^" in (caught.value.detail or "")


@pytest.fixture
def command(server: KsqlClient, tmp_path: Path) -> list[str]:
    token = tmp_path / "token"
    token.write_text(server.credentials.token or "")
    return [sys.executable, "-m", "millstream.cli", "sql", "--server", server.url, "--token-file", str(token)]


def test_the_command(command: list[str]) -> None:
    def run(*options: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - it is ours
            [*command, *options], input=typed, capture_output=True, text=True, timeout=120, check=False
        )

    done = run("--execute", "DEFINE v = '42'; SHOW VARIABLES; SHOW STREAMS;", "--output", "json")
    assert (done.returncode, done.stderr) == (0, "")
    variables, streams = map(json.loads, done.stdout.splitlines())
    assert variables["variables"] == [{"name": "v", "value": "42"}]
    assert streams["@type"] == "streams"
    done = run(typed="SHOW TABELS; SHOW STREAMS;")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Syntax Error" in done.stderr
    assert "SHOW TABELS;\n" in done.stderr


def test_control_c_ends_a_push_query(server: KsqlClient, command: list[str]) -> None:
    name = f"s_{uuid.uuid4().hex[:8]}"
    server.execute(f"CREATE STREAM {name} (v INT) WITH (kafka_topic='{name}', value_format='JSON', partitions=1);")
    statements = f"SELECT * FROM {name} EMIT CHANGES; SHOW STREAMS;"
    # A test run in the background has its processes ignore Ctrl-C.
    heeding = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"import signal; {heeding}; from millstream.cli import main; main()"
    line = [sys.executable, "-c", program, *command[3:], "-e", statements]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "V\n"
            running.stdout.readline()
            server.execute(f"INSERT INTO {name} VALUES (7);")
            assert running.stdout.readline() == "7\n"
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 130
            assert running.stdout.read() == ""
        finally:
            running.kill()
