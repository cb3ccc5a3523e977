"""Statements go where they are executed; commands of the shell do what `help` says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.ksqldb.api import AnswerKind, End, Row, ServiceError
from millstream.shell.errors import ServerRefused, ShellError
from millstream.shell.output import Output
from millstream.shell.shell import Leave, Shell
from millstream.sql.errors import ParseError

from ..ksqldb.rest.memory import MemoryAnswer, MemoryService
from .conftest import Shown, wait_for


def test_statements_and_their_answers(shell: Shell, shown: Shown) -> None:
    shell.run("CREATE STREAM s (id INT); INSERT INTO s VALUES (1, 'a'); SHOW STREAMS;")
    message, head, row = shown.lines
    assert message == "Stream created"
    assert head.split("  ") == ["Stream Name", "Kafka Topic", "Key Format", "Value Format", "Windowed"]
    assert row.split() == ["S", "s", "KAFKA", "JSON", "false"]


def test_answers_as_json(shell: Shell, shown: Shown) -> None:
    shell.run("output json")
    shell.run("CREATE STREAM s (id INT); INSERT INTO s VALUES (1, 'a'); SET 'auto.offset.reset'='earliest';")
    shell.run("SELECT * FROM s;")
    found = [json.loads(line) for line in shown.lines]
    assert found[0]["@type"] == "currentStatus"
    assert found[1:] == [
        {"header": {"queryId": "pull", "schema": "`ID` INTEGER KEY, `NAME` STRING"}},
        {"row": {"columns": [1, "a"]}},
    ]


def test_pull_queries_are_tables(shell: Shell, shown: Shown) -> None:
    shell.run("CREATE STREAM s (id INT); INSERT INTO s VALUES (1, 'a'); INSERT INTO s VALUES (20000, 'bcdef');")
    shell.run("SELECT * FROM s;")
    assert shown.lines[1:] == ["ID    | NAME", "------+------", "1     | a", "20000 | bcdef"]


def test_push_queries_are_shown_as_rows_come(shell: Shell, service: MemoryService, shown: Shown) -> None:
    answer = service.answers["SELECT * FROM s EMIT CHANGES"] = MemoryAnswer()
    running = threading.Thread(target=shell.run, args=("SELECT * FROM s EMIT CHANGES;",))
    running.start()
    assert answer.listened.wait(10)
    answer.put((1, "a\x1b[2J\n"))
    wait_for(lambda: len(shown.lines) == 3)
    answer.put(Row((1, None), is_tombstone=True))
    answer.finish("Limit Reached")
    running.join(10)
    assert shown.lines == [
        "ID          | NAME",
        "------------+-------------------------",
        "1           | a\\x1b[2J\\n",
        "1           | <TOMBSTONE>",
        "Limit Reached",
    ]


def test_rows_fit_the_screen(client: object, shell: Shell, service: MemoryService) -> None:
    narrow = Shown(width=30)
    shell.screen = narrow.screen
    service.answers["SELECT 1"] = MemoryAnswer(AnswerKind.TABLE_PULL, rows=[(1, "x" * 50), (2, "日本")], end=End())
    shell.run("SELECT 1;")
    assert narrow.lines == [
        "ID   | NAME",
        "-----+------------------------",
        "1    | " + "x" * 23,
        "     | " + "x" * 23,
        "     | " + "x" * 4,
        "2    | 日本",
    ]


def test_print(shell: Shell, service: MemoryService, shown: Shown) -> None:
    service.answers["PRINT 't'"] = MemoryAnswer(AnswerKind.PRINT, (), [("key: \x07, value: :snake: [red]",)], End())
    shell.run("PRINT 't';")
    assert shown.lines == ["key: \\x07, value: :snake: [red]"]


def test_the_session_is_sent_along(shell: Shell, service: MemoryService, shown: Shown) -> None:
    shell.run("SET 'auto.offset.reset' = 'earliest'; DEFINE Topic = 'orders'; CREATE STREAM s (id INT);")
    shell.run("SHOW STREAMS; SELECT * FROM s;")
    created, listed, selected = service.requests
    for request in service.requests:
        assert request.properties == {"auto.offset.reset": "earliest"}
        assert request.variables == {"topic": "orders"}
    assert (created.after, listed.after, selected.after) == (None, 1, None)
    shell.run("UNSET 'auto.offset.reset'; UNDEFINE topic; request-pipelining on;")
    shell.run("SHOW STREAMS;")
    assert (service.requests[-1].properties, service.requests[-1].variables) == ({}, {})
    assert service.requests[-1].after is None
    assert shown.lines[0].startswith("Successfully changed local property 'auto.offset.reset' to 'earliest'.")
    assert "Successfully unset local property 'auto.offset.reset' (value was 'earliest')." in shown.lines


def test_variables_in_statements_of_the_session(shell: Shell) -> None:
    shell.run("DEFINE where = 'earliest'; SET 'auto.offset.reset' = '${where}';")
    assert shell.session.properties == {"auto.offset.reset": "earliest"}


def test_what_cannot_be_set(shell: Shell) -> None:
    with pytest.raises(ServerRefused, match="Not recognizable"):
        shell.run("SET 'no.such' = '1';")
    with pytest.raises(ShellError, match="is not set"):
        shell.run("UNSET 'auto.offset.reset';")
    with pytest.raises(ShellError, match="is not defined"):
        shell.run("UNDEFINE a;")
    with pytest.raises(ParseError, match="Syntax Error"):
        shell.run("SET 'a' 'b';")
    assert shell.session.properties == {}


def test_secrets_are_not_shown(shell: Shell, shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell.client, "check_property", lambda name: None)
    shell.run("SET 'sasl.password' = 'tulip'; SET 'sasl.password' = 'rose'; UNSET 'sasl.password';")
    assert len(shown.lines) == 3
    assert not any("tulip" in line or "rose" in line for line in shown.lines)


def test_a_command_that_failed_on_the_server(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"@type": "currentStatus", "commandStatus": {"status": "ERROR", "message": "no such topic"}}
    monkeypatch.setattr(shell.client, "execute", lambda *_: [failed])
    with pytest.raises(ServerRefused, match="no such topic"):
        shell.run("CREATE STREAM s (id INT);")


def test_scripts(shell: Shell, service: MemoryService, tmp_path: Path) -> None:
    inner, outer = tmp_path / "it's.sql", tmp_path / "outer.sql"
    inner.write_text("-- first\nCREATE STREAM a (id INT);\nFAIL;\nCREATE STREAM b (id INT);\n")
    outer.write_text(f"RUN SCRIPT '{str(inner).replace(chr(39), chr(39) * 2)}';")
    with pytest.raises(ServerRefused, match="Syntax error: FAIL"):
        shell.run(f"run script '{outer}'")
    assert list(service.streams) == ["A"]
    inner.write_text(f"RUN SCRIPT '{outer}';")
    with pytest.raises(ShellError, match="runs itself"):
        shell.run(f"run script '{outer}'")
    with pytest.raises(ShellError, match="cannot read"):
        shell.run(f"run script '{tmp_path / 'no.sql'}'")


def test_spool(shell: Shell, shown: Shown, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    shell.run(f"SPOOL '{file}'")
    shell.run("CREATE STREAM s (id INT);")
    try:
        shell.run("FAIL;")
    except ServerRefused as error:
        shell.screen.error(error)
    shell.run("spool off")
    shell.run("SHOW STREAMS;")
    assert file.read_text().splitlines() == [
        "ksql> CREATE STREAM s (id INT);",
        "Stream created",
        "ksql> FAIL;",
        "line 1:1: Syntax error: FAIL;",
        "here:",
        "    FAIL;",
        "    ^",
        "ksql> spool off",
    ]
    assert "line 1:1: Syntax error: FAIL;" in shown.errors
    with pytest.raises(ShellError, match="cannot write"):
        shell.run(f"spool '{tmp_path}'")


def test_commands_of_the_shell(shell: Shell, shown: Shown, serve: Callable[..., str]) -> None:
    shell.history = lambda: ["SHOW STREAMS;"]
    shell.run("help")
    assert any("run script 'file'" in line for line in shown.lines)
    assert any("output [tabular|json]" in line for line in shown.lines)
    shell.run("version;")
    assert any(f"0.29.0 at {shell.client.url}, RUNNING" in line for line in shown.lines)
    shell.run("history")
    assert shown.lines[-1] == "    1  SHOW STREAMS;"
    shell.run("output")
    assert shown.lines[-1] == "The output is tabular."
    shell.run("OUTPUT JSON;")
    assert shell.screen.output is Output.JSON
    other = serve()
    shell.run(f"server {other}")
    shell.run("server")
    assert shown.lines[-1] == other
    shell.run("request-pipelining")
    assert shown.lines[-1] == "Request pipelining is off."
    shell.run("clear")
    with pytest.raises(Leave):
        shell.run("exit;")
    for wrong in ("output xml", "spool", "request-pipelining maybe", "help me"):
        with pytest.raises(ShellError, match="is not used like that"):
            shell.run(wrong)


def test_names_are_asked_for_again_after_changes(shell: Shell, service: MemoryService) -> None:
    changes: list[bool] = []
    shell.on_change = lambda: changes.append(True)
    shell.run("CREATE STREAM s (id INT); SHOW STREAMS;")
    assert changes == [True]
    service.entities["DROP STREAM s;"] = ServiceError(40001, "no")
    with pytest.raises(ServerRefused):
        shell.run("DROP STREAM s;")
    assert changes == [True]
