"""`millstream topics`: look at topics, make them, and try records."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.connection import PATIENCE, ClientOptions, Servers, connection, settings
from millstream.cli.records import consume, produce
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic

topics = typer.Typer(help="Look at topics, make them, and try records.", no_args_is_help=True)
topics.command()(produce)
topics.command()(consume)


@topics.command(name="list")
def list_topics(
    servers: Servers = None,
    client: ClientOptions = None,
    internal: Annotated[bool, typer.Option("--internal", help="Kafka's own topics too.")] = False,
) -> None:
    """List topics with their partitions and how many records they hold."""
    admin = Admin(connection(servers, client), timeout=PATIENCE)
    found = admin.topics(internal=internal)
    partitions = [(name, number) for name, count in found.items() for number in range(count)]
    begin = admin.begin_offsets(partitions)
    end = admin.end_offsets(partitions)
    table = Table(box=None, pad_edge=False)
    table.add_column("topic")
    table.add_column("partitions", justify="right")
    table.add_column("records", justify="right")
    for name, count in found.items():
        records = sum(end[name, number] - begin[name, number] for number in range(count))
        table.add_row(name, str(count), str(records))
    Console(soft_wrap=True).print(table)


@topics.command()
def create(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1)] = 1,
    replication_factor: Annotated[int, typer.Option(help="Copies; -1 is the broker's default.")] = -1,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="NAME=VALUE", help="A setting of the topic, cleanup.policy=compact."),
    ] = None,
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Create topics."""
    options = settings("--config", config)
    admin = Admin(connection(servers, client), timeout=PATIENCE)
    created = admin.create_topics(
        [NewTopic(name, partitions, options) for name in names], replication_factor=replication_factor
    )
    for name in names:
        typer.echo(f"{name} {'created' if name in created else 'exists already'}")


@topics.command()
def delete(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Delete topics and their records."""
    admin = Admin(connection(servers, client), timeout=PATIENCE)
    admin.require_topics(names)
    admin.delete_topics(names)
    for name in names:
        typer.echo(f"{name} deleted")
