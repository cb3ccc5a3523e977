"""`millstream migrations`: bring a server up to date with numbered files of SQL, as `ksql-migrations` does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.connection import settings
from millstream.errors import ArgumentError
from millstream.migrations import project as projects
from millstream.migrations.checking import validate as check_applied
from millstream.migrations.client import Client
from millstream.migrations.files import HIGHEST_VERSION, all_migrations
from millstream.migrations.files import create as create_file
from millstream.migrations.metadata import Applied, Metadata, State
from millstream.migrations.project import load

if TYPE_CHECKING:
    from millstream.migrations.applying import Choice

migrations = typer.Typer(
    help="Bring a ksqlDB server up to date with numbered files of SQL, as ksql-migrations does.", no_args_is_help=True
)


@migrations.callback()
def project(
    context: typer.Context,
    config_file: Annotated[
        Path, typer.Option("--config-file", "-c", help="The project's properties.", dir_okay=False)
    ] = Path(projects.CONFIG_FILE),
) -> None:
    """Bring a ksqlDB server up to date with numbered files of SQL, as ksql-migrations does."""
    context.obj = config_file


@migrations.command(name="new-project")
def new_project(
    directory: Annotated[Path, typer.Argument(help="Where the project is to be.", file_okay=False)],
    url: Annotated[str, typer.Argument(help="Where the server is: http://localhost:8088.")],
) -> None:
    """Make a project: its properties, and the directory of its migrations."""
    projects.new_project(directory, url, typer.echo)


@migrations.command(name="initialize-metadata")
def initialize_metadata(context: typer.Context) -> None:
    """Make the stream and the table on the server that have the states of migrations."""
    found = load(context.obj)
    Metadata(Client(found), found).initialize(typer.echo)


@migrations.command()
def create(
    context: typer.Context,
    description: Annotated[str, typer.Argument(help="What the migration does, in a few words.")],
    version: Annotated[
        int | None, typer.Option("--version", "-v", help="Its number; the next one if not given.")
    ] = None,
) -> None:
    """Make an empty file for the next migration."""
    create_file(load(context.obj).directory, description, version, typer.echo)


@migrations.command()
def apply(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", "-a", help="Apply all that are new.")] = False,
    following: Annotated[bool, typer.Option("--next", "-n", help="Apply the first that is new.")] = False,
    until: Annotated[
        int | None, typer.Option("--until", "-u", help="Apply those up to this version.", min=1, max=HIGHEST_VERSION)
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", "-v", help="Apply this version.", min=1, max=HIGHEST_VERSION)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be applied.")] = False,
    define: Annotated[
        list[str] | None, typer.Option("--define", "-d", metavar="NAME=VALUE", help="What ${NAME} stands for.")
    ] = None,
) -> None:
    """Apply migrations that are new, statement by statement."""
    from millstream.migrations.applying import Applying  # it reads the grammar, and only this command needs it

    choice = _choice(every, following, until, version)
    variables = settings("--define", define)
    found = load(context.obj)
    client = Client(found)
    metadata = Metadata(client, found)
    metadata.require()
    Applying(found, client, metadata, variables, typer.echo).apply(choice, dry_run=dry_run)


def _choice(every: bool, following: bool, until: int | None, version: int | None) -> Choice:
    from millstream.migrations import applying

    given: dict[str, Choice] = {}
    if every:
        given["--all"] = applying.every
    if following:
        given["--next"] = applying.the_next
    if until is not None:
        given["--until"] = applying.until(until)
    if version is not None:
        given["--version"] = applying.only(version)
    if len(given) != 1:
        raise ArgumentError(
            f"{' and '.join(given)} contradict each other" if given else "it is not said what to apply",
            hint="give one of --all, --next, --until and --version",
        )
    (choice,) = given.values()
    return choice


@migrations.command()
def info(context: typer.Context) -> None:
    """Show the migrations there are and their states."""
    found = load(context.obj)
    metadata = Metadata(Client(found), found)
    metadata.require()
    typer.echo(f"Current migration version: {metadata.current_version()}")
    files = all_migrations(found.directory, typer.echo)
    if not files:
        typer.echo("No migrations files found")
        return
    known = metadata.migrations(file.version for file in files)
    table = Table(box=None, pad_edge=False)
    for title in ("Version", "Name", "State", "Previous Version", "Started On", "Completed On", "Error Reason"):
        table.add_column(title)
    for file in files:
        table.add_row(str(file.version), file.name, *_told(known.get(file.version)))
    Console(soft_wrap=True, highlight=False, markup=False).print(table)


def _told(applied: Applied | None) -> list[str]:
    if applied is None:
        return [State.PENDING.value, "N/A", "N/A", "N/A", "N/A"]
    times = [_time(applied.started_on), _time(applied.completed_on)]
    return [applied.state.value, applied.previous, *times, applied.error_reason]


def _time(milliseconds: str) -> str:
    if not milliseconds.isdecimal():
        return "N/A"
    return f"{datetime.fromtimestamp(int(milliseconds) / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@migrations.command()
def validate(context: typer.Context) -> None:
    """See that the files of migrations that were applied have not been changed since."""
    found = load(context.obj)
    metadata = Metadata(Client(found), found)
    metadata.require()
    check_applied(metadata, found)
    typer.echo("Successfully validated checksums for migrations that have already been applied")


@migrations.command(name="destroy-metadata")
def destroy_metadata(context: typer.Context) -> None:
    """Drop the stream and the table of migrations with their topics. What was applied stays."""
    found = load(context.obj)
    Metadata(Client(found), found).destroy(typer.echo)
