"""The command and its sub-commands; errors are printed for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from millstream.cli.commands.broker import broker
from millstream.cli.commands.connect import connect
from millstream.cli.commands.describe import describe
from millstream.cli.commands.groups import groups
from millstream.cli.commands.prepare import prepare
from millstream.cli.commands.query import query
from millstream.cli.commands.reset import reset
from millstream.cli.commands.run import run
from millstream.cli.commands.serve import serve
from millstream.cli.commands.service.console import console
from millstream.cli.commands.service.migrations import migrations
from millstream.cli.commands.service.restore_commands import restore_commands
from millstream.cli.commands.service.server import server
from millstream.cli.commands.sql import sql
from millstream.cli.commands.topics import topics
from millstream.errors import MillstreamError

app = typer.Typer(
    name="millstream",
    help="Kafka Streams and ksqlDB for Python, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(broker, name="broker")
app.add_typer(connect, name="connect")
app.add_typer(topics, name="topics")
app.add_typer(groups, name="groups")
app.add_typer(migrations, name="migrations")
app.command()(console)
app.command()(describe)
app.command()(prepare)
app.command()(query)
app.command()(reset)
app.command()(restore_commands)
app.command()(run)
app.command()(serve)
app.command()(server)
app.command()(sql)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"millstream {version('millstream')}")
        raise typer.Exit


@app.callback()
def options(
    show: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version and leave."),
    ] = False,
) -> None:
    """Kafka Streams and ksqlDB for Python, on Spark."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave the process: 0 if all went well, 1 after an error, 2 if it was called wrongly.

    Args:
        arguments: what follows the command's name; the process's own unless given.
    """
    try:
        app(arguments, prog_name="millstream")
    except MillstreamError as error:
        _print_error(error)
        sys.exit(1)
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _print_error(error: MillstreamError) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), error.primary))
    for label, text in (("detail", error.detail), ("hint", error.hint)):
        if text:
            indented = text.replace("\n", "\n          ")
            console.print(Text.assemble((f"  {label + ':':<8}", "dim"), indented))
