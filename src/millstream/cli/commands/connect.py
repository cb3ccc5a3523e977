"""`millstream connect`: a real Kafka Connect on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from millstream.cli.connection import Servers, running_broker, settings
from millstream.connect.detached import DetachedWorker, find_worker, start_worker, stop_worker
from millstream.errors import ArgumentError
from millstream.jvm.maven import Artifact

CONNECT_PORT = 8083
"""Where the worker listens if nothing else is said, and where ksql.connect.url looks for one."""

connect = typer.Typer(help="Run a real Kafka Connect on this machine: one worker.", no_args_is_help=True)


@connect.command()
def start(
    bootstrap_servers: Servers = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port of its REST API: 8083 if not given, 0 takes a free one."),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Where its settings and its log are; in your state directory if not given."),
    ] = None,
    plugin: Annotated[
        list[str] | None,
        typer.Option("--plugin", metavar="GROUP:ARTIFACT:VERSION", help="A connector to fetch from Maven Central."),
    ] = None,
    plugin_path: Annotated[
        list[Path] | None,
        typer.Option(exists=True, file_okay=False, help="A directory that has plug-ins in directories of their own."),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="A property of the worker.")
    ] = None,
) -> None:
    """Start a worker. It runs until `millstream connect stop`."""
    plugins = [Artifact.parse(text) for text in plugin or ()]
    servers = bootstrap_servers or running_broker()
    with Console(stderr=True).status("starting Kafka Connect"):
        found, started = start_worker(
            servers,
            port=CONNECT_PORT if port is None else port or None,
            directory=directory,
            plugins=plugins,
            plugin_path=[path.absolute() for path in plugin_path or ()],
            properties=settings("--set", setting),
        )
    typer.echo(f"Kafka Connect {'runs' if started else 'was already running'} at {found.url}")
    _details(found)
    if not started and (port not in (None, 0, found.port) or directory or plugin or plugin_path or setting):
        raise ArgumentError(
            "another worker runs already, and it stays as it is",
            hint="there is one at a time: stop it first with `millstream connect stop`; its connectors go on later",
        )


@connect.command()
def stop() -> None:
    """Stop the worker. Its connectors go on at the next start."""
    with Console(stderr=True).status("stopping Kafka Connect"):
        stopped = stop_worker()
    typer.echo("no worker is running" if stopped is None else f"Kafka Connect at {stopped.url} is stopped")


@connect.command()
def status() -> None:
    """Say whether the worker runs, and where. The exit code is 3 if it does not."""
    found = find_worker()
    if found is None:
        typer.echo("no worker is running")
        raise typer.Exit(3)
    typer.echo(f"Kafka Connect runs at {found.url}")
    _details(found)


def _details(found: DetachedWorker) -> None:
    typer.echo(f"  process   {found.pid}\n  directory {found.directory}\n  brokers   {found.bootstrap_servers}")
