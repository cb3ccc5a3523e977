"""`millstream restore-commands`: make a service's command topic anew from a backup, as `ksql-restore-command-topic`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.connection import PATIENCE, ClientOptions, Servers, connection
from millstream.errors import StreamsError
from millstream.kafka.group_admin import GroupAdmin


def restore_commands(
    backup: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="What a server wrote to ksql.metastore.backup.location.", exists=True, dir_okay=False
        ),
    ],
    service_id: Annotated[str, typer.Option(help="The service whose commands they are.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Make the command topic of a service anew from a backup. All servers of the service must be stopped."""
    from millstream.ksqldb.commands.log.backup import commands_of, restore  # slow, and only this command needs it
    from millstream.ksqldb.commands.log.kafka_topic import KafkaCommandTopic
    from millstream.ksqldb.commands.names import command_topic

    name, count = command_topic(service_id), len(commands_of(backup))
    config = connection(servers, client)
    with closing(GroupAdmin(config, timeout=PATIENCE)) as admin:
        _refuse_if_it_runs(admin, service_id)
        typer.echo(f"restore the commands of service {service_id}:")
        if admin.partition_counts([name]):
            typer.echo(f"  delete topic {name} and all commands that it has")
        typer.echo(f"  make topic {name} with {count} commands of {backup}")
        typer.echo("  leave alone: all other topics, and how far queries have come")
        if not yes:
            typer.confirm("do this?", abort=True, err=True)
        _refuse_if_it_runs(admin, service_id)
    with closing(KafkaCommandTopic(config, service_id, name)) as topic:
        restore(topic, backup)
    typer.echo(f"restored {count} commands; servers of service {service_id} can be started")


def _refuse_if_it_runs(admin: GroupAdmin, service_id: str) -> None:
    """See that no lane of the service runs. A server that is just starting has none yet, and is not noticed."""
    from millstream.hosting.lanes.settings import lanes_group
    from millstream.ksqldb.commands.names import application_id

    found = admin.describe(lanes_group(application_id(service_id)))
    if found.members:
        where = ", ".join(sorted({member.host for member in found.members}))
        raise StreamsError(
            f"a server of service {service_id} is running",
            detail=f"its group of lanes has {len(found.members)} members, on {where}",
            hint="stop all servers of the service; one that was killed is forgotten by the broker within a minute",
        )
