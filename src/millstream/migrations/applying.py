"""Applying migrations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from millstream.errors import MillstreamError
from millstream.migrations.checking import validate
from millstream.migrations.client import Client
from millstream.migrations.errors import MigrationError
from millstream.migrations.files import MigrationFile, all_migrations, checksum
from millstream.migrations.metadata import NONE, Applied, Metadata, State
from millstream.migrations.project import Project
from millstream.migrations.statements import Session, statements_of

#: Which of the migrations to apply, given the last one that was.
Choice = Callable[[list[MigrationFile], str], list[MigrationFile]]


def every(migrations: list[MigrationFile], last: str) -> list[MigrationFile]:
    """All that are new."""
    return [migration for migration in migrations if last == NONE or migration.version > int(last)]


def the_next(migrations: list[MigrationFile], last: str) -> list[MigrationFile]:
    """The first that is new."""
    found = every(migrations, last)
    if not found:
        raise MigrationError("No eligible migrations found.")
    return found[:1]


def until(version: int) -> Choice:
    """Those that are new up to a version."""
    return lambda migrations, last: [found for found in every(migrations, last) if found.version <= version]


def only(version: int) -> Choice:
    """One version."""

    def choose(migrations: list[MigrationFile], last: str) -> list[MigrationFile]:
        found = [migration for migration in migrations if migration.version == version]
        if not found:
            raise MigrationError(f"No migration file with version {version} exists.")
        if found != every(found, last):
            raise MigrationError(
                f"Version must be newer than the last version migrated. Last version migrated was {last}"
            )
        return found

    return choose


class Applying:
    """Applies migrations.

    Args:
        project: has them.
        client: asks the server.
        metadata: what the server knows of them.
        variables: what `${name}` stands for in them, beside what they define.
        tell: what is told to people.
        now: the time, in milliseconds.
    """

    def __init__(
        self,
        project: Project,
        client: Client,
        metadata: Metadata,
        variables: Mapping[str, str],
        tell: Callable[[str], None],
        now: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._project = project
        self._client = client
        self._metadata = metadata
        self._variables = variables
        self._tell = tell
        self._now = now

    def apply(self, choice: Choice, *, dry_run: bool = False) -> None:
        """Apply migrations, one after another, until one fails.

        Args:
            choice: which.
            dry_run: only tell which these are and what they say.

        Raises:
            MigrationError: one fails; or one that was applied is not what it was, and then none is applied.
        """
        if dry_run:
            self._tell("This is a dry run. No ksqlDB statements will be submitted to the ksqlDB server.")
        self._tell("Validating current migration state before applying new migrations")
        validate(self._metadata, self._project)
        previous = self._metadata.latest_migrated()
        self._tell("Loading migration files")
        chosen = choice(all_migrations(self._project.directory, self._tell), previous)
        self._tell(f"{len(chosen)} migration file(s) loaded." if chosen else "No eligible migrations found.")
        for file in chosen:
            self._tell(f"Applying migration version {file.version}: {file.name}")
            content = file.read()
            try:
                text = content.decode()
            except UnicodeDecodeError as error:
                raise MigrationError(f"Failed to read {file.path}: it is not in UTF-8", detail=str(error)) from error
            self._tell(f"{file.path} contents:\n{text}")
            if not dry_run:
                self._apply(file, content, text, previous)
                self._tell("Successfully migrated")
            previous = str(file.version)
        if dry_run:
            self._tell("Dry run complete. No migrations were actually applied.")

    def _apply(self, file: MigrationFile, content: bytes, text: str, previous: str) -> None:
        started_on = str(self._now())
        running = Applied(
            str(file.version), file.name, State.RUNNING, checksum(content), started_on, "", previous, "N/A"
        )
        self._metadata.write(running)
        try:
            self._execute(text)
        except MigrationError as error:
            failed = replace(running, state=State.ERROR, completed_on=str(self._now()), error_reason=error.primary)
            try:
                self._metadata.write(failed)
            except MigrationError as further:
                raise MigrationError(error.primary, detail=f"nor is that noted: {further.primary}") from error
            raise
        self._metadata.write(replace(running, state=State.MIGRATED, completed_on=str(self._now())))

    def _execute(self, text: str) -> None:
        """All statements are checked before the first is executed."""
        found = statements_of(text)
        for action in ("parse", "execute"):
            session = Session(self._variables)
            for statement in found:
                try:
                    if session.take(statement) and action == "execute":
                        self._client.execute(statement, session.properties, session.variables)
                except MillstreamError as error:
                    raise MigrationError(
                        f"Failed to {action} sql: {statement}. Error: {error.primary}",
                        detail=error.detail,
                        hint="correct the file, and apply again: what was executed before it stays executed",
                    ) from error
