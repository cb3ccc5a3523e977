"""A project: a directory with `ksql-migrations.properties` and the files of the migrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream.migrations.errors import MigrationError

CONFIG_FILE = "ksql-migrations.properties"
_DIRECTORY = "migrations"
_URL = "ksql.server.url"
_STREAM = "MIGRATION_EVENTS"
_TABLE = "MIGRATION_SCHEMA_VERSIONS"

#: What a new project can set, and what counts if it does not.
_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "Where the state of migrations is kept on the server": {
        "ksql.migrations.stream.name": _STREAM,
        "ksql.migrations.table.name": _TABLE,
        "ksql.migrations.stream.topic.name": f"<service id>ksql_{_STREAM}",
        "ksql.migrations.table.topic.name": f"<service id>ksql_{_TABLE}",
        "ksql.migrations.topic.replicas": "1",
    },
    "TLS: certificates that the server's must be signed by, PEM": {
        "ssl.truststore.location": "",
        "ssl.verify.host": "true",
    },
    "Who asks": {"ksql.auth.basic.username": "", "ksql.auth.basic.password": ""},
    "Where the files of the migrations are": {"ksql.migrations.dir.override": ""},
}


@dataclass(frozen=True)
class Project:
    """What a project's file of properties says.

    Args:
        directory: where the files of the migrations are.
        url: where the server is.
        username: who asks; None if it is nobody's business.
        password: the user's.
        authorities: certificates that the server's must be signed by; the system's if not given.
        verify_host: whether the server's certificate must have its name.
        stream: the stream that has every change of a migration's state.
        table: the table that has the state of every migration.
        stream_topic: the stream's topic; by default it is named after the service and the stream.
        table_topic: the table's topic, the same way.
        replicas: of the stream's topic.
    """

    directory: Path
    url: str
    username: str | None = None
    password: str = field(default="", repr=False)
    authorities: Path | None = None
    verify_host: bool = True
    stream: str = _STREAM
    table: str = _TABLE
    stream_topic: str | None = None
    table_topic: str | None = None
    replicas: int = 1


def load(config_file: Path) -> Project:
    """The project that a file of properties is the centre of.

    Raises:
        MigrationError: there is no such file, or it says something that cannot be.
    """
    try:
        found = read_properties(config_file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise MigrationError(
            f"the project's properties cannot be read from {config_file}",
            detail=str(error),
            hint="give --config-file, or begin with `millstream migrations new-project DIRECTORY URL`",
        ) from error
    if not found.get(_URL):
        raise MigrationError(f"Missing required property: {_URL}", detail=f"in {config_file}")
    if found.get("ssl.keystore.location"):
        raise MigrationError(
            "certificates of clients are not known to Millstream's servers",
            detail=f"ssl.keystore.location in {config_file}",
            hint="take it out, and give a user: ksql.auth.basic.username and ksql.auth.basic.password",
        )
    replicas = found.get("ksql.migrations.topic.replicas", "1")
    if not replicas.isdecimal() or int(replicas) < 1:
        raise MigrationError(f"ksql.migrations.topic.replicas cannot be {replicas!r}", detail=f"in {config_file}")
    location, authorities = found.get("ksql.migrations.dir.override"), found.get("ssl.truststore.location")
    return Project(
        directory=Path(location) if location else config_file.parent / _DIRECTORY,
        url=found[_URL],
        username=found.get("ksql.auth.basic.username") or None,
        password=found.get("ksql.auth.basic.password", ""),
        authorities=Path(authorities) if authorities else None,
        verify_host=found.get("ssl.verify.host", "true").lower() != "false",
        stream=found.get("ksql.migrations.stream.name") or _STREAM,
        table=found.get("ksql.migrations.table.name") or _TABLE,
        stream_topic=found.get("ksql.migrations.stream.topic.name") or None,
        table_topic=found.get("ksql.migrations.table.topic.name") or None,
        replicas=int(replicas),
    )


def read_properties(text: str) -> dict[str, str]:
    r"""The lines `name=value` of a text; empty ones and comments (# and !) are left out.

    >>> read_properties("# where\nksql.server.url = http://localhost:8088\n\n")
    {'ksql.server.url': 'http://localhost:8088'}
    """
    lines = [line.strip() for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and line[0] not in "#!"]
    return {name.strip(): value.strip() for name, _, value in pairs}


def new_project(directory: Path, url: str, tell: Callable[[str], None]) -> None:
    """Make a project.

    Args:
        directory: where; it may be there already.
        url: where the server is.
        tell: what is told to people.

    Raises:
        MigrationError: there is a project already, or the directory cannot be made.
    """
    tell(f"Creating new migrations project at {directory}")
    config_file = directory / CONFIG_FILE
    lines = [f"{_URL}={url}"]
    for title, settings in _SETTINGS.items():
        lines += ["", f"# {title}:", *(f"# {name}={value}" for name, value in settings.items())]
    try:
        for path in (directory, directory / _DIRECTORY):
            if not path.is_dir():
                tell(f"Creating directory: {path}")
                path.mkdir(parents=True)
        tell(f"Creating file: {config_file}")
        with config_file.open("x", encoding="utf-8") as file:
            file.write("\n".join([*lines, ""]))
    except FileExistsError as error:
        raise MigrationError(f"Failed to create file. File already exists: {error.filename}") from error
    except OSError as error:
        raise MigrationError(f"Failed to create {error.filename}", detail=error.strerror) from error
    tell("Migrations project directory created successfully")
