"""What people type comes to the shell: lines, keys, completion, history."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from millstream.ksqldb.api import ServiceError
from millstream.shell.client import KsqlClient
from millstream.shell.completion import Names, StatementCompleter
from millstream.shell.repl import MaskedHistory, Repl
from millstream.shell.shell import Shell
from millstream.sql.engine.answers.entities import (
    FunctionName,
    FunctionsList,
    SourceDescription,
    SourceDescriptionEntity,
    SourceInfo,
    StreamsList,
    TablesList,
)
from millstream.sql.engine.answers.schema_info import FieldInfo, SchemaInfo

from ..ksqldb.rest.memory import MemoryService
from .conftest import Shown, wait_for

CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as made:
        yield made


@pytest.fixture
def repl(shell: Shell, keys: PipeInput, tmp_path: Path) -> Repl:
    return Repl(shell, tmp_path / "state" / "history", (keys, DummyOutput()))


def test_a_statement_goes_on_until_its_semicolon(repl: Repl, keys: PipeInput, service: MemoryService) -> None:
    keys.send_text("CREATE STREAM s (\rid INT,\rname STRING DEFAULT ';\r');\rexit\r")
    repl.run()
    assert [request.sql for request in service.requests] == ["CREATE STREAM s (\nid INT,\nname STRING DEFAULT ';\n');"]


def test_several_statements_on_a_line(repl: Repl, keys: PipeInput, service: MemoryService) -> None:
    keys.send_text("CREATE STREAM a (id INT); CREATE STREAM b (id INT);\r" + CTRL_D)
    repl.run()
    assert list(service.streams) == ["A", "B"]


def test_errors_do_not_end_it(repl: Repl, keys: PipeInput, shown: Shown, service: MemoryService) -> None:
    keys.send_text(f"\rFAIL;\rSELECT {CTRL_C}CREATE STREAM a (id INT);\r{CTRL_D}")
    repl.run()
    assert "line 1:1: Syntax error: FAIL;\nhere:\n    FAIL;\n    ^\n" in shown.errors
    assert list(service.streams) == ["A"]


def test_control_c_ends_a_query(
    repl: Repl, keys: PipeInput, shell: Shell, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> Iterator[str]:
        yield "rowtime: 1"
        raise KeyboardInterrupt

    monkeypatch.setattr(shell.client, "print_topic", interrupted)
    keys.send_text("PRINT 't';\rSHOW STREAMS;\rexit\r")
    repl.run()
    assert shown.lines[:2] == ["rowtime: 1", "Query terminated"]
    assert shown.lines[2].startswith("Stream Name")


def test_history_is_kept_without_secrets(repl: Repl, keys: PipeInput, shown: Shown, tmp_path: Path) -> None:
    keys.send_text("SET 'sasl.password' = 'tulip';\rSHOW\rSTREAMS;\rhistory\rexit\r")
    repl.run()
    file = tmp_path / "state" / "history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "tulip" not in file.read_text()
    assert "    1  SET 'sasl.password' = '[string]';" in shown.lines
    assert list(MaskedHistory(file).load_history_strings())[:3] == ["exit", "history", "SHOW\nSTREAMS;"]


def test_tab_completes(repl: Repl, keys: PipeInput, service: MemoryService) -> None:
    buffer = repl._prompt.default_buffer

    def type_on() -> None:
        try:
            keys.send_text("sho\t")
            wait_for(lambda: buffer.text == "show")
        finally:
            keys.send_text(" streams;\rexit\r")

    typing = threading.Thread(target=type_on)
    typing.start()
    repl.run()
    typing.join()
    assert service.requests[-1].sql == "show streams;"


ASKED = "SHOW STREAMS; SHOW TABLES; SHOW FUNCTIONS;"


@pytest.fixture
def complete(client: KsqlClient, service: MemoryService) -> Callable[[str], list[str]]:
    source = SourceInfo("STREAM", "ORDERS", "orders", "KAFKA", "JSON", False)
    table = SourceInfo("TABLE", "lower", "t", "KAFKA", "JSON", False)
    fields = (FieldInfo("AMOUNT", SchemaInfo("INTEGER")), FieldInfo("amenity", SchemaInfo("STRING")))
    described = SourceDescription("ORDERS", None, (), (), fields, "STREAM", "", "KAFKA", "JSON", "orders")
    service.entities["SHOW STREAMS;"] = [StreamsList(streams=(source,))]
    service.entities["SHOW TABLES;"] = [TablesList(tables=(table,))]
    service.entities["SHOW FUNCTIONS;"] = [FunctionsList(functions=(FunctionName("AVG", "AGGREGATE", "AGGREGATE"),))]
    service.entities["DESCRIBE ORDERS;"] = [SourceDescriptionEntity(source_description=described)]
    completer = StatementCompleter(Names(lambda: client))

    def complete(text: str, after: str = "") -> list[str]:
        document = Document(text + after, len(text))
        return [found.text for found in completer.get_completions(document, CompleteEvent(completion_requested=True))]

    return complete


def test_completion(complete: Callable[..., list[str]], service: MemoryService) -> None:
    assert complete("hist") == ["history"]
    assert complete("SHOW TABLES; desc") == ["describe"]
    assert complete("SELECT * FROM o")[0] == "ORDERS"
    assert complete("DESCRIBE low")[0] == "`lower`"
    assert complete("SELECT am", " FROM orders") == ["AMOUNT", "`amenity`"]
    assert complete("SELECT `am", " FROM orders") == ["AMOUNT", "`amenity`"]
    assert complete("SELECT av") == ["avg"]
    assert complete("SELECT * FROM orders WHERE amount > 1 EMIT CH") == ["CHANGES"]
    assert sorted(request.sql for request in service.requests) == ["DESCRIBE ORDERS;", ASKED]


def test_names_are_asked_for_again(client: KsqlClient, service: MemoryService) -> None:
    service.entities["SHOW TABLES;"] = [TablesList(tables=())]
    service.entities["SHOW FUNCTIONS;"] = [FunctionsList(functions=())]
    names = Names(lambda: client)
    assert names.sources == []
    client.execute("CREATE STREAM s (id INT);")
    assert names.sources == []
    names.forget()
    assert names.sources == ["S"]


def test_a_server_that_is_away_completes_keywords(complete: Callable[..., list[str]], service: MemoryService) -> None:
    service.entities["SHOW STREAMS;"] = ServiceError(50000, "away")
    assert complete("SELECT * FROM s EMIT CH") == ["CHANGES"]
