"""How `millstream sql` starts the shell: which server it asks, as whom, and where statements come from."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from millstream.cli.connection import BROKER_PORT, connection, settings
from millstream.cli.listening import read_tokens
from millstream.cli.loading import load_module
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.config import StreamsConfig
from millstream.directories import state_directory
from millstream.errors import ArgumentError
from millstream.kafka.detached import start_detached
from millstream.shell.output import Output
from millstream.spark.startup.signals import StopSignals

if TYPE_CHECKING:  # slow, and other commands need none of it
    from millstream.shell.client import Credentials, KsqlClient
    from millstream.shell.shell import Shell


@dataclass(frozen=True)
class Asked:
    """What the options say of the shell."""

    server: str | None
    execute: str | None
    file: Path | None
    user: str | None
    token_file: Path | None
    authorities: Path | None
    output: Output

    def credentials(self) -> Credentials:
        from millstream.shell.client import Credentials

        name, colon, password = (self.user or "").partition(":")
        if name and not colon:
            password = typer.prompt(f"password of {name}", hide_input=True, err=True)
        return Credentials(
            (name, password) if name else None, next(iter(read_tokens(self.token_file)), None), self.authorities
        )

    def statements(self) -> str | None:
        """What is to be executed; None if people type it."""
        if self.execute is not None and self.file is not None:
            raise ArgumentError("--execute and --file exclude each other", hint="give one of them")
        if self.execute is not None:
            return self.execute
        if self.file is not None:
            from millstream.shell.shell import read_script

            return read_script(self.file)
        return None if sys.stdin.isatty() else sys.stdin.read()


@dataclass(frozen=True)
class Embedded:
    """What the options say of a server in this process."""

    config: StreamsConfig
    bootstrap_servers: str | None
    client: list[str] | None
    service_id: str | None
    setting: list[str] | None
    functions: list[str] | None
    log_format: LogFormat

    def start(self, after: ExitStack, *, is_interactive: bool) -> KsqlClient:
        """The client of a server that runs until the end."""
        from millstream.shell.embedded import embedded_server

        set_up_logging(self.log_format)
        if is_interactive:  # log lines would come between those that are typed
            state_directory().mkdir(parents=True, exist_ok=True)
            logging.basicConfig(filename=state_directory() / "sql.log", level=logging.WARNING, force=True)
        signals = StopSignals(signal.SIGTERM)
        signals.starting()
        after.callback(signals.over)
        modules = [load_module(location) for location in self.functions or ()]
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        with console.status("starting"):
            servers = self.bootstrap_servers or _dev_broker(console)
            reached = connection(servers, self.client)
            config = replace(self.config, bootstrap_servers=servers, client=reached.client)
            properties = {"ksql.service.id": self.service_id or "default_", **settings("--set", self.setting)}
            return after.enter_context(embedded_server(config, properties, modules))


def _dev_broker(console: Console) -> str:
    """The address of the broker that `millstream broker start` started, or would start."""
    found, started = start_detached(port=BROKER_PORT)
    if started:
        console.print(f"a broker runs at {found.bootstrap_servers} until `millstream broker stop`")
    return found.bootstrap_servers


def start_shell(asked: Asked, embedded: Embedded) -> None:
    """Have statements executed, or begin to read them from a person."""
    from millstream.shell.client import KsqlClient
    from millstream.shell.rendering import Screen
    from millstream.shell.shell import Leave, Shell

    if asked.server is not None and (embedded.setting or embedded.functions):
        raise ArgumentError("--set and --functions are for an engine in this process", hint="use SET in the shell")
    text = asked.statements()
    with ExitStack() as after:
        if asked.server is None:
            client = embedded.start(after, is_interactive=text is None)
        else:
            client = KsqlClient(asked.server, asked.credentials())
        shell = Shell(client, Screen(output=asked.output))
        after.callback(shell.close)
        try:
            if text is not None:
                shell.run(text)
            else:
                _interact(shell)
        except Leave:
            pass
        except KeyboardInterrupt:
            raise typer.Exit(128 + signal.SIGINT) from None


def _interact(shell: Shell) -> None:
    from millstream.shell.repl import Repl

    shell.greet()
    Repl(shell, state_directory() / "sql_history").run()
