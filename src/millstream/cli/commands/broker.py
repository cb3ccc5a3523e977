"""`millstream broker`: a real Apache Kafka on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from millstream.cli.connection import BROKER_PORT
from millstream.errors import ArgumentError
from millstream.kafka.detached import DetachedBroker, find_detached, start_detached, stop_detached

broker = typer.Typer(help="Run a real Apache Kafka on this machine, for trying things out.", no_args_is_help=True)


@broker.command()
def start(
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port for clients: 9092 if not given, 0 takes a free one.")
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Where it keeps its data; in your state directory if not given."),
    ] = None,
) -> None:
    """Start a broker. It runs until `millstream broker stop`."""
    with Console(stderr=True).status("starting the broker"):
        found, started = start_detached(port=BROKER_PORT if port is None else port or None, directory=directory)
    typer.echo(f"the broker {'runs' if started else 'was already running'} at {found.bootstrap_servers}")
    _details(found)
    if started:
        return
    other_port = port not in (None, 0, found.port)
    other_directory = directory is not None and directory.absolute() != Path(found.directory)
    if other_port or other_directory:
        raise ArgumentError(
            "another broker runs already, and it stays as it is",
            detail=f"it is at {found.bootstrap_servers} with its data in {found.directory}",
            hint="there is one at a time: stop it first with `millstream broker stop`",
        )


@broker.command()
def stop() -> None:
    """Stop the broker. Its data stays."""
    with Console(stderr=True).status("stopping the broker"):
        stopped = stop_detached()
    typer.echo("no broker is running" if stopped is None else f"the broker at {stopped.bootstrap_servers} is stopped")


@broker.command()
def status() -> None:
    """Say whether the broker runs, and where. The exit code is 3 if it does not."""
    found = find_detached()
    if found is None:
        typer.echo("no broker is running")
        raise typer.Exit(3)
    typer.echo(f"the broker runs at {found.bootstrap_servers}")
    _details(found)


def _details(found: DetachedBroker) -> None:
    typer.echo(f"  process   {found.pid}\n  directory {found.directory}")
