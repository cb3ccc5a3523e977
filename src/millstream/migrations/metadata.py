"""What a server knows of migrations: a stream of changes of their states, and a table of the last of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from millstream.migrations.client import Client
from millstream.migrations.errors import MigrationError
from millstream.migrations.project import Project

#: Stands for the version before the first.
NONE = "<none>"
_CURRENT = "CURRENT"
_COLUMNS = ("version", "name", "state", "checksum", "started_on", "completed_on", "previous", "error_reason")
_PATIENCE_SECONDS = 120.0
_PAUSE_SECONDS = 0.25


class State(StrEnum):
    """Where a migration is."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    MIGRATED = "MIGRATED"
    ERROR = "ERROR"


@dataclass(frozen=True)
class Applied:
    """What the server knows of a migration.

    Args:
        version: its number, as text.
        name: its description.
        state: where it is.
        checksum: of its file when it was applied.
        started_on: when that began, in milliseconds since 1970, as text.
        completed_on: when it ended; empty if it has not.
        previous: the version before it, or `NONE`.
        error_reason: why it failed, or "N/A".
    """

    version: str
    name: str
    state: State
    checksum: str
    started_on: str
    completed_on: str
    previous: str
    error_reason: str


class Metadata:
    """The stream and the table.

    Args:
        client: asks the server.
        project: says what they are called.
        pause: waits so many seconds before the table is looked at again.
    """

    def __init__(self, client: Client, project: Project, pause: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._project = project
        self._pause = pause

    # --- there or not

    def initialize(self, tell: Callable[[str], None]) -> None:
        """Make the stream and the table.

        Raises:
            MigrationError: the server does not.
        """
        project, prefix = self._project, f"{self._client.service_id()}ksql_"
        columns = ", ".join(f"{name} STRING" for name in _COLUMNS)
        stream_topic = project.stream_topic or prefix + _plain(project.stream)
        table_topic = project.table_topic or prefix + _plain(project.table)
        latest = ", ".join(f"LATEST_BY_OFFSET({name}) AS {name}" for name in _COLUMNS)
        self._make(
            "stream",
            project.stream,
            f"CREATE STREAM {project.stream} (version_key STRING KEY, {columns}) "
            f"WITH (KAFKA_TOPIC={_text(stream_topic)}, VALUE_FORMAT='JSON', "
            f"PARTITIONS=1, REPLICAS={project.replicas});",
            tell,
        )
        self._make(
            "table",
            project.table,
            f"CREATE TABLE {project.table} WITH (KAFKA_TOPIC={_text(table_topic)}) "  # noqa: S608 - names are the user's
            f"AS SELECT version_key, {latest} FROM {project.stream} GROUP BY version_key;",
            tell,
        )
        tell("Migrations metadata initialized successfully")

    def _make(self, kind: str, name: str, statement: str, tell: Callable[[str], None]) -> None:
        tell(f"Creating {kind}: {name}")
        try:
            # What is written while the table's query starts is not to be missed.
            self._client.execute(statement, {"auto.offset.reset": "earliest"})
        except MigrationError as error:
            raise MigrationError(f"Failed to create {kind} {name}: {error.primary}", detail=error.detail) from error

    def destroy(self, tell: Callable[[str], None]) -> None:
        """Drop the table, its query and the stream, and delete their topics.

        Raises:
            MigrationError: the server does not.
        """
        tell("Cleaning migrations metadata stream and table from ksqlDB server")
        for kind, name, names in (
            ("table", self._project.table, self._names("TABLES")),
            ("stream", self._project.stream, self._names("STREAMS")),
        ):
            if _plain(name).upper() not in names:
                tell(f"Metadata {kind} does not exist. Skipping cleanup.")
                continue
            tell(f"Dropping migrations metadata {kind}: {name}")
            try:
                self._client.execute(f"DROP {kind.upper()} {name} DELETE TOPIC;")
            except MigrationError as error:
                raise MigrationError(f"Failed to drop metadata {kind} '{name}': {error.primary}") from error
        tell("Migrations metadata cleaned successfully")

    def require(self) -> None:
        """See that the stream and the table are there.

        Raises:
            MigrationError: they are not.
        """
        for kind, name in (("STREAMS", self._project.stream), ("TABLES", self._project.table)):
            if _plain(name).upper() not in self._names(kind):
                raise MigrationError(
                    "Migrations metadata is not initialized",
                    detail=f"{name} is not among the {kind.lower()} of {self._project.url}",
                    hint="run `millstream migrations initialize-metadata` first",
                )

    def _names(self, kind: str) -> set[str]:
        (found,) = self._client.execute(f"LIST {kind};")
        return {source["name"].upper() for source in found[kind.lower()]}

    # --- what it says

    def current_version(self) -> str:
        """The version that was begun last, or `NONE`."""
        found = self._find([_CURRENT])
        return found[0].version if found else NONE

    def migrations(self, versions: Iterable[int]) -> dict[int, Applied]:
        """What is known of versions; nothing of those that were never begun."""
        return {int(found.version): found for found in self._find([str(version) for version in versions])}

    def migration(self, version: str) -> Applied:
        """What is known of a version that was begun.

        Raises:
            MigrationError: it was not.
        """
        found = self._find([version])
        if not found:
            raise MigrationError(
                f"Failed to query state for migration with version {version}: "
                "no such migration is present in the migrations metadata table"
            )
        return found[0]

    def latest_migrated(self) -> str:
        """The last version that was applied, or `NONE`.

        Raises:
            MigrationError: the one before a failed one was not applied either.
        """
        version = self.current_version()
        if version == NONE:
            return NONE
        current = self.migration(version)
        if current.state is State.MIGRATED:
            return version
        if current.previous != NONE:
            require_migrated(self.migration(current.previous), version)
        return current.previous

    def _find(self, keys: list[str]) -> list[Applied]:
        if not keys:
            return []
        wanted = ", ".join(map(_text, keys))
        selected = f"SELECT {', '.join(_COLUMNS)} FROM {self._project.table}"  # noqa: S608 - its name is the user's
        rows = self._client.rows(f"{selected} WHERE version_key IN ({wanted});")
        return [_applied(row) for row in rows]

    # --- what changes

    def write(self, migration: Applied) -> None:
        """Note the state of a migration, and wait until the table has it: who looks next finds it there.

        Raises:
            MigrationError: it is not noted, or the table does not come to have it.
        """
        values = ", ".join(
            _text(value)
            for value in (
                migration.version,
                migration.name,
                migration.state.value,
                migration.checksum,
                migration.started_on,
                migration.completed_on,
                migration.previous,
                migration.error_reason,
            )
        )
        for key in (_CURRENT, migration.version):
            target = f"{self._project.stream} (version_key, {', '.join(_COLUMNS)})"
            self._client.execute(f"INSERT INTO {target} VALUES ({_text(key)}, {values});")  # noqa: S608 - as above
        end = time.monotonic() + _PATIENCE_SECONDS
        while self._find([migration.version]) != [migration] or self._find([_CURRENT]) != [migration]:
            if time.monotonic() > end:
                raise MigrationError(
                    f"Failed to verify status of version {migration.version}",
                    detail=f"{self._project.table} does not have {migration.state} after {_PATIENCE_SECONDS:g} seconds",
                    hint="see whether the table's query runs: SHOW QUERIES;",
                )
            self._pause(_PAUSE_SECONDS)


def require_migrated(migration: Applied, following: str) -> None:
    """See that a version was applied before the one that follows it.

    Raises:
        MigrationError: it was not.
    """
    if migration.state is not State.MIGRATED:
        raise MigrationError(
            "Discovered version with previous version that does not have status MIGRATED. "
            f"Version: {following}. Previous version: {migration.version}. "
            f"Previous version status: {migration.state}"
        )


def _applied(row: list[str]) -> Applied:
    version, name, state, checksum, started_on, completed_on, previous, error_reason = row
    try:
        known = State(state)
    except ValueError as error:
        raise MigrationError(f"version {version} has a state that there is not: {state}") from error
    return Applied(version, name, known, checksum, started_on, completed_on, previous, error_reason)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _plain(name: str) -> str:
    return name.strip("`")
