"""`millstream sql` without a script: which server the shell asks, as whom, and what it is given."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.shell import embedded
from millstream.shell.client import Credentials, KsqlClient
from millstream.shell.shell import Shell

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shells(monkeypatch: pytest.MonkeyPatch) -> list[tuple[KsqlClient, str]]:
    """Which servers were to execute what."""
    found: list[tuple[KsqlClient, str]] = []
    monkeypatch.setattr(Shell, "run", lambda self, text: found.append((self.client, text)))
    monkeypatch.setattr(sys, "stdin", io.StringIO("SHOW TOPICS;"))
    return found


def test_statements_for_a_server(run: Run, shells: list[tuple[KsqlClient, str]], tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("SHOW TABLES;")
    for options, text in (
        (("--execute", "SHOW STREAMS;"), "SHOW STREAMS;"),
        (("--file", str(script)), "SHOW TABLES;"),
        ((), "SHOW TOPICS;"),
    ):
        assert run("sql", "--server", "host:1", *options) == (0, "", "")
        assert (shells[-1][0].url, shells[-1][1]) == ("http://host:1", text)


def test_credentials(
    run: Run, shells: list[tuple[KsqlClient, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "token"
    tokens.write_text("tulip\n")
    run("sql", "--server", "host:1", "--token-file", str(tokens))
    run("sql", "--server", "host:1", "--user", "ada:pass:word")
    monkeypatch.setattr("typer.prompt", lambda text, **_: f"answer to {text}")
    run("sql", "--server", "host:1", "--user", "ada")
    assert [client.credentials for client, _ in shells] == [
        Credentials(token="tulip"),  # noqa: S106 - of a test
        Credentials(("ada", "pass:word")),
        Credentials(("ada", "answer to password of ada")),
    ]


def test_a_server_in_this_process(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[StreamsConfig, Any]] = []

    @contextmanager
    def stand_in(config: StreamsConfig, settings: Any, functions: Any) -> Iterator[KsqlClient]:
        started.append((config, settings))
        yield KsqlClient("embedded:1")
        started.clear()  # it is closed

    monkeypatch.setattr(embedded, "embedded_server", stand_in)
    while_it_ran: list[tuple[StreamsConfig, Any]] = []
    monkeypatch.setattr(Shell, "run", lambda self, text: while_it_ran.extend(started))
    code, output, _ = run("sql", "-b", "broker:9", "--set", "ksql.x=1", "-e", "SHOW STREAMS;")
    assert (code, output, started) == (0, "", [])
    ((config, settings),) = while_it_ran
    assert config.bootstrap_servers == "broker:9"
    assert settings == {"ksql.service.id": "default_", "ksql.x": "1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("script.sql", "--server", "host:1"), "error: a script runs in this process"),
        (("--server", "host:1", "-e", "x", "--file", "y"), "error: --execute and --file exclude each other"),
        (("--server", "host:1", "--set", "a=b"), "error: --set and --functions are for an engine in this process"),
        (("--server", "host:1", "--file", "no.sql"), "error: cannot read no.sql"),
        (("--server", "ftp://host:1"), "error: 'ftp://host:1' is no address of a server"),
    ],
)
def test_options_that_make_no_sense(
    run: Run, shells: list[tuple[KsqlClient, str]], options: tuple[str, ...], message: str
) -> None:
    code, _, errors = run("sql", *options)
    assert code == 1
    assert errors.startswith(message)
    assert shells == []
