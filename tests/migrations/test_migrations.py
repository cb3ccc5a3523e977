"""Migrations are written, applied and checked."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.migrations.client import Client
from millstream.migrations.errors import MigrationError
from millstream.migrations.files import all_migrations, create
from millstream.migrations.metadata import Metadata
from millstream.migrations.project import Project, load
from millstream.migrations.statements import Session, statements_of

from .stand_in import EVENTS, VERSIONS, StandIn

Run = Callable[..., tuple[int, str, str]]


class Tool:
    """The command on a project."""

    def __init__(self, run: Run, directory: Path) -> None:
        self._run = run
        self.config_file = directory / "ksql-migrations.properties"
        self.directory = directory / "migrations"

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """The output of a command, or its errors if it is to fail."""
        left, output, errors = self._run("migrations", "--config-file", str(self.config_file), *arguments)
        assert left == code, errors or output
        return errors if code else output

    def write(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)


@pytest.fixture
def tool(run: Run, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """A project whose metadata is there."""
    monkeypatch.setenv("COLUMNS", "200")
    assert run("migrations", "new-project", str(tmp_path / "shop"), server.url)[0] == 0
    made = Tool(run, tmp_path / "shop")
    made("initialize-metadata")
    return made


def test_a_new_project(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "projects" / "shop"
    code, output, _ = run("migrations", "new-project", str(directory), "http://localhost:8088")
    assert code == 0
    assert output.splitlines()[-1] == "Migrations project directory created successfully"
    project = load(directory / "ksql-migrations.properties")
    assert project == Project(directory / "migrations", "http://localhost:8088")
    assert project.directory.is_dir()
    code, _, errors = run("migrations", "new-project", str(directory), "http://localhost:8088")
    assert (code, errors.startswith("error: Failed to create file. File already exists: ")) == (1, True)


def test_properties(tmp_path: Path) -> None:
    file = tmp_path / "other.properties"
    file.write_text(
        "! a comment\nksql.server.url = https://ksql:8443\nksql.migrations.stream.name=events\n"
        "ksql.migrations.dir.override=/srv/sql\nssl.verify.host=False\nksql.auth.basic.password=a=b\n"
    )
    project = load(file)
    assert project.url == "https://ksql:8443"
    assert (project.stream, project.table) == ("events", VERSIONS)
    assert project.directory == Path("/srv/sql")
    assert not project.verify_host
    assert project.password == "a=b"  # noqa: S105
    assert "a=b" not in repr(project)
    file.write_text("ksql.migrations.topic.replicas=many\nksql.server.url=http://x\n")
    with pytest.raises(MigrationError, match=r"ksql\.migrations\.topic\.replicas cannot be 'many'"):
        load(file)
    file.write_text("")
    with pytest.raises(MigrationError, match=r"Missing required property: ksql\.server\.url"):
        load(file)
    with pytest.raises(MigrationError, match="the project's properties cannot be read"):
        load(tmp_path / "none")


def test_files_are_numbered(tmp_path: Path) -> None:
    told: list[str] = []
    assert create(tmp_path, "Add users: a/b", None, told.append).name == "V000001__Add_users__a_b.sql"
    assert create(tmp_path, "later", 7, told.append).name == "V000007__later.sql"
    assert create(tmp_path, "next", None, told.append).name == "V000008__next.sql"
    (tmp_path / "notes.txt").touch()
    told.clear()
    found = all_migrations(tmp_path, told.append)
    assert [(file.version, file.name) for file in found] == [(1, "Add users  a b"), (7, "later"), (8, "next")]
    assert [text.endswith(": notes.txt") for text in told] == [True]
    with pytest.raises(MigrationError, match="Found existing migrations file for version 7: "):
        create(tmp_path, "again", 7, told.append)
    with pytest.raises(MigrationError, match="Invalid version file version: 1000000"):
        create(tmp_path, "too many", 1_000_000, told.append)
    with pytest.raises(MigrationError, match="Description cannot be empty"):
        create(tmp_path, "", None, told.append)
    (tmp_path / "V000007__other.sql").touch()
    with pytest.raises(MigrationError, match=r"Found multiple migration files with the same version\. Version: 7"):
        all_migrations(tmp_path)
    with pytest.raises(MigrationError, match="is not a directory"):
        all_migrations(tmp_path / "none")


def test_statements() -> None:
    text = "-- first; of all\nCREATE STREAM a AS SELECT ';' AS x FROM b; /* ; */ DROP STREAM c;\n"
    assert statements_of(text) == ["CREATE STREAM a AS SELECT ';' AS x FROM b;", "DROP STREAM c;"]
    assert statements_of("-- nothing\n") == []
    with pytest.raises(MigrationError, match="missing semicolon: 'DROP STREAM c'"):
        statements_of("DROP STREAM a; DROP STREAM c")
    session = Session({"n": "1"})
    assert not session.take("DEFINE topic = 't${n}';")
    assert not session.take("SET 'auto.offset.reset' = 'earliest';")
    assert session.take("CREATE STREAM s (v INT) WITH (kafka_topic='${topic}', value_format='JSON');")
    assert session.variables == {"n": "1", "topic": "t1"}
    assert session.properties == {"auto.offset.reset": "earliest"}
    session.take("UNSET 'auto.offset.reset';")
    session.take("UNDEFINE topic;")
    assert (session.variables, session.properties) == ({"n": "1"}, {})
    for statement in ("SELECT * FROM s EMIT CHANGES;", "show streams;"):
        with pytest.raises(MigrationError, match="statements are not supported"):
            session.take(statement)


def test_metadata_comes_and_goes(tool: Tool, server: StandIn) -> None:
    assert server.sources == {"streams": [EVENTS], "tables": [VERSIONS]}
    assert tool("destroy-metadata").splitlines()[-1] == "Migrations metadata cleaned successfully"
    assert server.sources == {"streams": [], "tables": []}
    assert "Metadata table does not exist. Skipping cleanup." in tool("destroy-metadata")
    for command in (["apply", "--all"], ["info"], ["validate"]):
        assert tool(*command, code=1).startswith("error: Migrations metadata is not initialized")


def test_applying(tool: Tool, server: StandIn) -> None:
    tool("create", "orders")
    tool.write(
        "V000001__orders.sql", "SET 'auto.offset.reset'='earliest';\nCREATE STREAM o AS SELECT * FROM ${from};\n"
    )
    tool.write("V000002__people.sql", "CREATE TYPE person AS STRUCT<name STRING>; INSERT INTO o VALUES (1);")
    tool.write("V000005__more.sql", "DROP STREAM o;")
    assert "No migrations files found" not in tool("info")
    output = tool("apply", "--next", "--dry-run")
    assert "V000001__orders.sql contents:\nSET 'auto" in output
    assert output.endswith("Dry run complete. No migrations were actually applied.\n")
    assert server.states == []
    assert "contradict" in tool("apply", "--next", "--all", code=1)
    assert "not said what to apply" in tool("apply", code=1)

    tool("apply", "--next", "--define", "from=p")
    assert server.executed == [
        ("CREATE STREAM o AS SELECT * FROM ${from};", {"auto.offset.reset": "earliest"}, {"from": "p"})
    ]
    assert server.states == [("1", "RUNNING"), ("1", "MIGRATED")]
    assert server.rows["CURRENT"] == server.rows["1"]
    tool("apply", "--until", "4")
    assert [state for state in server.states if state[1] == "MIGRATED"] == [("1", "MIGRATED"), ("2", "MIGRATED")]
    assert "newer than the last version migrated. Last version migrated was 2" in tool("apply", "-v", "1", code=1)
    assert "No migration file with version 4 exists." in tool("apply", "-v", "4", code=1)
    tool("apply", "--version", "5")
    assert "No eligible migrations found." in tool("apply", "--all")
    assert tool("apply", "--next", code=1) == "error: No eligible migrations found.\n"
    lines = [line.split() for line in tool("info").splitlines()]
    assert lines[0] == ["Current", "migration", "version:", "5"]
    assert [line[:4] for line in lines[2:]] == [
        ["1", "orders", "MIGRATED", "<none>"],
        ["2", "people", "MIGRATED", "1"],
        ["5", "more", "MIGRATED", "2"],
    ]


def test_changed_files_are_found(tool: Tool, server: StandIn) -> None:
    tool.write("V000001__first.sql", "DROP STREAM a;")
    tool.write("V000002__second.sql", "DROP STREAM b;")
    tool("apply", "--all")
    assert "Successfully validated checksums" in tool("validate")
    tool.write("V000001__first.sql", "DROP STREAM other;")
    assert "version 1 does not match the checksum saved for this version" in tool("validate", code=1)
    tool.write("V000003__third.sql", "DROP STREAM c;")
    assert "does not match the checksum" in tool("apply", "--all", code=1)
    assert ("3", "RUNNING") not in server.states
    (tool.directory / "V000001__first.sql").unlink()
    assert "No migrations file found for version with status MIGRATED. Version: 1" in tool("validate", code=1)


def test_a_failed_migration_is_corrected(tool: Tool, server: StandIn) -> None:
    tool.write("V000001__first.sql", "DROP STREAM a;")
    tool.write("V000002__second.sql", "DROP STREAM b; DROP STREAM no_such_stream; DROP STREAM c;")
    tool.write("V000003__third.sql", "DROP STREAM d;")
    errors = tool("apply", "--all", code=1)
    assert "Failed to execute sql: DROP STREAM no_such_stream;. Error: NO_SUCH_STREAM does not exist." in errors
    assert server.states[-1] == ("2", "ERROR")
    assert [text for text, *_ in server.executed] == ["DROP STREAM a;", "DROP STREAM b;"]
    assert "NO_SUCH_STREAM does not exist." in tool("info")
    assert "Successfully validated" in tool("validate")  # what failed was not applied
    tool.write("V000002__second.sql", "SELECT 1 FROM b;")
    assert "Failed to parse sql: SELECT 1 FROM b;. Error: 'SELECT' statements are not" in tool("apply", "-n", code=1)
    tool.write("V000002__second.sql", "DROP STREAM it's;")
    assert "Failed to parse sql: DROP STREAM it's;. Error: " in tool("apply", "-n", code=1)
    tool.write("V000002__second.sql", "DROP STREAM c;")
    tool("apply", "--all")
    assert server.rows["3"][6] == "2"
    assert server.rows["2"][6:] == ["1", "N/A"]


def test_a_server_that_goes_away(tool: Tool, server: StandIn) -> None:
    tool.write("V000001__first.sql", "DROP STREAM a;")
    server.dies_at = "DROP STREAM a;"
    errors = tool("apply", "--all", code=1)
    assert errors.startswith("error: Failed to execute sql: DROP STREAM a;. Error: no server answers at ")
    assert "nor is that noted: no server answers at " in errors
    server.dies_at = None
    tool("apply", "--all")  # the state was RUNNING
    assert server.states == [("1", "RUNNING"), ("1", "RUNNING"), ("1", "MIGRATED")]


def test_a_version_after_one_that_was_not_applied(tool: Tool, server: StandIn) -> None:
    server.rows["1"] = ["1", "one", "ERROR", "", "", "", "<none>", "N/A"]
    server.rows["2"] = server.rows["CURRENT"] = ["2", "two", "RUNNING", "", "", "", "1", "N/A"]
    errors = tool("apply", "--all", code=1)
    assert "does not have status MIGRATED. Version: 2. Previous version: 1. Previous version status: ERROR" in errors


def test_what_takes_time_is_waited_for(server: StandIn, tmp_path: Path) -> None:
    pauses: list[float] = []
    project = Project(tmp_path, server.url, username="ann", password="secret")  # noqa: S106
    client = Client(project, pauses.append)
    server.queues = True
    Metadata(client, project).initialize(lambda text: None)
    assert (server.asked_for, len(pauses)) == (["/status/stream/%60S%60/create"] * 2, 2)
    assert set(server.authorizations) == {f"Basic {base64.b64encode(b'ann:secret').decode()}"}
    server.unready = 2
    assert (Metadata(client, project).current_version(), len(pauses)) == ("<none>", 4)


def test_who_does_not_answer(tmp_path: Path, server: StandIn) -> None:
    server.server_close()
    with pytest.raises(MigrationError, match="no server answers at http://127"):
        Client(Project(tmp_path, server.url)).service_id()
    with pytest.raises(MigrationError, match="Invalid ksql server URL: localhost:8088"):
        Client(Project(tmp_path, "localhost:8088"))
    bad = tmp_path / "store.jks"
    bad.write_bytes(b"\xfe\xed")
    with pytest.raises(MigrationError, match="has no certificates"):
        Client(Project(tmp_path, "https://127.0.0.1:1", authorities=bad)).service_id()
