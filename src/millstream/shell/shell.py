"""Brings each statement where it is executed: here, to the server's statements, or to its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from millstream.shell.client import KsqlClient
from millstream.shell.commands import USAGES, Command, command_of
from millstream.shell.errors import ServerRefused, ShellError
from millstream.shell.output import Output
from millstream.shell.rendering import Screen
from millstream.shell.session import STATEMENTS, Session
from millstream.shell.spool import Spool
from millstream.shell.statements import first_words, is_push, split

#: Statements after which there are other streams, tables, types or functions.
_CHANGES = frozenset({"CREATE", "DROP", "ALTER"})


class Leave(Exception):
    """Somebody said `exit`."""


class Shell:
    """Executes what was typed.

    Args:
        client: asks the server.
        screen: shows the answers.
    """

    def __init__(self, client: KsqlClient, screen: Screen) -> None:
        self.client = client
        self.screen = screen
        self.session = Session()
        #: Called when names may have changed.
        self.on_change: Callable[[], object] = lambda: None
        #: What was typed before, the oldest first.
        self.history: Callable[[], Iterable[str]] = tuple
        self._scripts: list[Path] = []

    def run(self, text: str) -> None:
        """Execute a command of the shell, or statements one after the other.

        Raises:
            MillstreamError: one of them cannot be executed; those after it are not.
            Leave: the shell is to be left.
        """
        for statement in [text] if command_of(text) is not None else split(text):
            self.screen.typed(statement.strip())
            command = command_of(statement)
            if command is not None:
                self._command(command)
            else:
                self._statement(statement)

    def greet(self) -> None:
        """Say which server is asked.

        Raises:
            MillstreamError: there is none.
        """
        found = self.client.info()
        self.screen.print(
            f"millstream {version('millstream')}, server {found.get('version')} at {self.client.url}, "
            f"service {found.get('ksqlServiceId')}\n`help` says what there is; Ctrl-D leaves."
        )

    def close(self) -> None:
        """End what is still open."""
        self.screen.end_spool()

    # --- statements

    def _statement(self, statement: str) -> None:
        (word,) = first_words(statement)
        session = self.session
        if word in STATEMENTS:
            told = session.change(statement, self.client.check_property)
            if told is not None and self.screen.output is Output.TABULAR:
                self.screen.print(told)
        elif word == "SELECT":
            with closing(self.client.query(statement, session.properties, session.variables)) as elements:
                self.screen.rows(elements, is_push=is_push(statement))
        elif word == "PRINT":
            with closing(self.client.print_topic(statement, session.properties, session.variables)) as lines:
                self.screen.lines(lines)
        else:
            self._execute(statement)
            if word in _CHANGES:
                self.on_change()

    def _execute(self, statement: str) -> None:
        session = self.session
        for entity in self.client.execute(statement, session.properties, session.variables, session.after):
            session.executed(entity.get("commandSequenceNumber", -1))
            status: Any = entity.get("commandStatus") or {}
            if status.get("status") == "ERROR":
                raise ServerRefused(status.get("message", ""), code=0)
            self.screen.entity(entity)

    # --- commands of the shell

    def _command(self, command: Command) -> None:
        name, argument = command.name, command.argument
        match name, argument.lower():
            case "help", "":
                self.screen.print(_help())
            case "exit", "":
                raise Leave
            case "version", "":
                self._tell_versions()
            case "history", "":
                for number, entry in enumerate(self.history(), 1):
                    self.screen.print(f"{number:>5}  {entry}")
            case "clear", "":
                self.screen.clear()
            case "output", "":
                self.screen.print(f"The output is {self.screen.output}.")
            case "output", "tabular" | "json" as output:
                self.screen.output = Output(output)
            case "server", "":
                self.screen.print(self.client.url)
            case "server", _:
                self._change_server(argument)
            case "request-pipelining", "":
                self.screen.print(f"Request pipelining is {'on' if self.session.pipelining else 'off'}.")
            case "request-pipelining", "on" | "off" as switch:
                self.session.pipelining = switch == "on"
            case "run script", path if path:
                self._run_script(Path(argument).expanduser())
            case "spool", "off":
                self.screen.end_spool()
            case "spool", path if path:
                self.screen.start_spool(Spool(Path(argument).expanduser()))
            case _:
                raise ShellError(f"{name} is not used like that", hint=f"write: {USAGES[name][0]}")

    def _tell_versions(self) -> None:
        found = self.client.info()
        self.screen.print(f"millstream {version('millstream')}")
        self.screen.print(f"server     {found.get('version')} at {self.client.url}, {found.get('serverStatus')}")
        self.screen.print(f"service    {found.get('ksqlServiceId')}, Kafka cluster {found.get('kafkaClusterId')}")

    def _change_server(self, url: str) -> None:
        client = KsqlClient(url, self.client.credentials)
        client.info()  # else the next statement says that it is not there
        self.client = client
        self.session.last_command = None
        self.on_change()

    def _run_script(self, path: Path) -> None:
        path = path.resolve()
        if path in self._scripts:
            raise ShellError(f"the script {path} runs itself")
        text = read_script(path)
        self._scripts.append(path)
        try:
            self.run(text)
        finally:
            self._scripts.pop()


def read_script(path: Path) -> str:
    """The statements of a file.

    Raises:
        ShellError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ShellError(f"cannot read {path}", detail=str(error)) from error


def _help() -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for usage, description in (
        *USAGES.values(),
        ("SET 'name' = 'value'; UNSET 'name';", "properties of this session; SHOW PROPERTIES; lists all"),
        ("DEFINE name = 'value'; UNDEFINE name;", "variables, used as ${name}; SHOW VARIABLES; lists them"),
        ("any statement of ksqlDB, up to its ;", "Ctrl-C ends a query that goes on, or empties the line"),
    ):
        table.add_row(Text(usage), Text(description))
    return table
