"""`millstream groups`: consumer groups, and how far they are behind."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.connection import PATIENCE, ClientOptions, Servers, connection
from millstream.errors import ArgumentError
from millstream.kafka.group_admin import GroupAdmin

groups = typer.Typer(
    help="Look at consumer groups: an application's is called like the application.", no_args_is_help=True
)


@groups.command(name="list")
def list_groups(servers: Servers = None, client: ClientOptions = None) -> None:
    """List groups with their states, members and lag."""
    admin = GroupAdmin(connection(servers, client), timeout=PATIENCE)
    table = _table("group", "state", ">members", ">lag")
    for name, state in admin.groups().items():
        positions = admin.positions(name)
        lag = sum(_lags(admin, positions).values())
        table.add_row(name, state, str(len(admin.describe(name).members)), str(lag))
    admin.close()
    Console(soft_wrap=True).print(table)


@groups.command()
def describe(
    group: Annotated[str, typer.Argument(help="The application's id.")],
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Show a group's positions, lag and members."""
    admin = GroupAdmin(connection(servers, client), timeout=PATIENCE)
    found = admin.describe(group)
    positions = admin.positions(group)
    if found.state == "dead" and not positions:
        raise ArgumentError(f"there is no group {group}", hint="`millstream groups list` shows those there are")
    lags = _lags(admin, positions)
    admin.close()
    owners = {at: member.client for member in found.members for at in member.partitions}
    console = Console(soft_wrap=True)
    console.print(f"group {group} is {found.state}", highlight=False)
    table = _table("topic", ">partition", ">position", ">lag", "read by")
    for at in sorted({*positions, *owners}):
        table.add_row(at[0], str(at[1]), str(positions.get(at, "-")), str(lags.get(at, "-")), owners.get(at, "-"))
    console.print(table)
    if found.members:
        table = _table("member", "host", ">partitions")
        for member in found.members:
            table.add_row(member.client, member.host, str(len(member.partitions)))
        console.print()
        console.print(table)


def _lags(admin: GroupAdmin, positions: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """How far each position is from the end; topics that are gone are left out."""
    known = admin.topics(internal=True)
    there = [at for at in positions if at[1] < known.get(at[0], 0)]
    end = admin.end_offsets(there, committed=True)
    return {at: max(0, end[at] - positions[at]) for at in there}


def _table(*columns: str) -> Table:
    """A table; columns of numbers begin with `>`."""
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left")
    return table
