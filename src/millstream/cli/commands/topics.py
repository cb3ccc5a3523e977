"""`millstream topics`: look at topics, make them, and try records."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.commands.records import consume, produce, read
from millstream.cli.connection import PATIENCE, ClientOptions, Servers, connection, settings
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic

_COUNTED = 10_000  # offsets up to which a topic is read to count its records

topics = typer.Typer(help="Look at topics, make them, and try records.", no_args_is_help=True)
topics.command()(produce)
topics.command()(consume)


@topics.command(name="list")
def list_topics(
    servers: Servers = None,
    client: ClientOptions = None,
    internal: Annotated[bool, typer.Option("--internal", help="Kafka's own topics too.")] = False,
) -> None:
    """List topics with their partitions and how many records they hold.

    Small topics are counted. Of large ones the number of offsets is told: there are at most as many records, as
    transactions and compaction use offsets up, too.
    """
    config = connection(servers, client)
    admin = Admin(config, timeout=PATIENCE)
    found = admin.topics(internal=internal)
    partitions = [(name, number) for name, count in found.items() for number in range(count)]
    begin = admin.begin_offsets(partitions)
    end = admin.end_offsets(partitions, committed=True)
    offsets = {name: sum(end[name, number] - begin[name, number] for number in range(found[name])) for name in found}
    small = {at for at in partitions if offsets[at[0]] <= _COUNTED}
    counted = Counter(
        message.topic() for message in read(config, {at: begin[at] for at in small}, {at: end[at] for at in small})
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("topic")
    table.add_column("partitions", justify="right")
    table.add_column("records", justify="right")
    for name, count in found.items():
        records = str(counted[name]) if offsets[name] <= _COUNTED else f"<= {offsets[name]}"
        table.add_row(name, str(count), records)
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
