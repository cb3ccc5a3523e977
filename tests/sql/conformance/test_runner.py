"""The command `python -m millstream.sql.conformance`, with cases of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millstream.sql.conformance.__main__ import main

CREATE = "CREATE STREAM orders (id INT KEY, total INT) WITH (kafka_topic='orders', value_format='JSON');"
QUERY = "CREATE STREAM large AS SELECT * FROM orders WHERE total > 10;"


def case(name: str, *statements: str, **fields: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "id": f"own/{name}",
        "suite": "qtt",
        "statements": list(statements),
        "topics": [],
        "inputs": [],
        "outputs": [],
        "properties": {},
        "expected_exception": None,
        "post": None,
        "tags": ["own"],
    }
    return {**base, **fields}


def record(topic: str, key: Any, value: Any, timestamp: int = 0) -> dict[str, Any]:
    return {"topic": topic, "key": key, "value": value, "timestamp": timestamp}


GOOD = case(
    "filter",
    CREATE,
    QUERY,
    inputs=[record("orders", 1, {"total": 5}), record("orders", 2, {"total": 50}, 7)],
    outputs=[record("LARGE", 2, {"TOTAL": 50}, 7)],
    post={"sources": [{"name": "LARGE", "type": "stream", "schema": "ID INT KEY, TOTAL INT"}]},
)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(cases: list[dict[str, Any]], *options: str) -> tuple[int, list[str]]:
        file = tmp_path / "cases.json"
        file.write_text(json.dumps({"cases": cases}), encoding="utf-8")
        code = main([str(tmp_path), *options])
        return code, capsys.readouterr().out.splitlines()

    return run


def test_what_passes_is_counted(run: Any) -> None:
    code, lines = run([GOOD])
    assert code == 0
    assert lines[-1] == "1 passed, 0 failed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"outputs": []}, None),  # without expected outputs a topic is not looked at
        ({"outputs": [record("LARGE", 2, {"TOTAL": 51}, 7)]}, "value:"),
        ({"outputs": [record("LARGE", 3, {"TOTAL": 50}, 7)]}, "key:"),
        ({"outputs": [record("LARGE", 2, {"TOTAL": 50}, 8)]}, "timestamp:"),
        ({"outputs": [{**GOOD["outputs"][0], "headers": [{"KEY": "a", "VALUE": "YQ=="}]}]}, "headers:"),
        ({"outputs": [*GOOD["outputs"], *GOOD["outputs"]]}, "expected 2 records, got 1"),
        ({"outputs": [record("LARGE", 2, {"TOTAL": 50, "MORE": None}, 7)]}, "value:"),
        ({"post": {"sources": [{"name": "LARGE", "type": "table"}]}}, "type of LARGE"),
        ({"post": {"sources": [{"name": "LARGE", "type": "stream", "schema": "ID INT KEY"}]}}, "schema of LARGE"),
        ({"post": {"topics": {"blacklist": "LAR.*"}}}, "there should be no topic LARGE"),
        ({"expected_exception": {"type": "KsqlException", "message": "no"}}, "should have failed"),
    ],
)
def test_what_differs_is_told(run: Any, change: dict[str, Any], reason: str | None) -> None:
    code, lines = run([{**GOOD, **change}])
    if reason is None:
        assert code == 0
    else:
        assert code == 1
        assert lines[0].startswith("own/filter: ")
        assert reason in lines[0]
        assert lines[-1] == "0 passed, 1 failed"


WRONG = "CREATE STREAM broken AS SELECT missing FROM orders;"


@pytest.mark.parametrize(
    ("expected", "passes"),
    [
        ({"type": "io.confluent.ksql.util.KsqlStatementException", "message": "column 'MISSING' cannot be"}, True),
        ({"type": "io.confluent.ksql.util.KsqlException", "message": "column 'MISSING' cannot be"}, True),
        ({"type": "io.confluent.ksql.parser.exception.ParseFailedException", "message": "MISSING"}, False),
        ({"type": "io.confluent.ksql.util.KsqlException", "message": "column 'OTHER'"}, False),
    ],
)
def test_errors_go_by_kind_and_message(run: Any, expected: dict[str, Any], passes: bool) -> None:
    _, lines = run([case("error", CREATE, WRONG, expected_exception=expected)])
    assert lines[-1] == ("1 passed, 0 failed" if passes else "0 passed, 1 failed")


def test_only_the_last_statement_may_fail(run: Any) -> None:
    expected = {"type": "KsqlException", "message": "MISSING"}
    _, lines = run([case("early", CREATE, WRONG, QUERY, expected_exception=expected)])
    assert "statement 2 of 3 failed already" in lines[0]


def test_queries_are_fed_from_those_before_them(run: Any) -> None:
    second = "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM large GROUP BY id;"
    outputs = [record("COUNTS", 2, {"N": 1}), record("COUNTS", 2, {"N": 2})]
    inputs = [record("orders", 2, {"total": 11}), record("orders", 2, {"total": 12})]
    _, lines = run([case("chain", CREATE, QUERY, second, inputs=inputs, outputs=outputs)])
    assert lines[-1] == "1 passed, 0 failed"


def test_assertions_consume_the_records_of_a_topic(run: Any) -> None:
    statements = (
        CREATE,
        QUERY,
        "INSERT INTO orders (ROWTIME, id, total) VALUES (5, 1, 20);",
        "ASSERT VALUES large (ROWTIME, id, total) VALUES (5, 1, 20);",
    )
    _, lines = run([case("assert", *statements, suite="yatt")])
    assert lines[-1] == "1 passed, 0 failed"
    _, lines = run([case("assert", *statements, statements[-1], suite="yatt")])
    assert "expected another record" in lines[0]


ASKED = case(
    "pull",
    CREATE,
    "CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;",
    "SELECT * FROM counts;",
    "SELECT * FROM orders LIMIT 1;",
    suite="rqtt",
    inputs=[record("orders", 1, {"total": 5}), record("orders", 2, {"total": 50}, 7)],
    responses=[
        {"admin": {"@type": "currentStatus"}},
        {"admin": {"@type": "currentStatus"}},
        {
            "query": [
                {"header": {"schema": "`ID` INTEGER KEY, `N` BIGINT"}},
                {"row": {"columns": [2, 1]}},
                {"row": {"columns": [1, 1]}},
            ]
        },
        {
            "query": [
                {"header": {"schema": "`ID` INTEGER, `TOTAL` INTEGER"}},
                {"row": {"columns": [1, 5]}},
                {"finalMessage": "Limit Reached"},
            ]
        },
    ],
)


def test_answers_are_compared(run: Any) -> None:
    code, lines = run([ASKED, GOOD])
    assert code == 0
    assert "rqtt: 1 passed, 0 failed" in lines
    assert lines[-1] == "2 passed, 0 failed"


@pytest.mark.parametrize(
    ("place", "part", "reason"),
    [
        (0, {"header": {"schema": "`ID` INTEGER, `N` BIGINT"}}, "expected the columns"),
        (1, {"row": {"columns": [2, 2]}}, "expected the rows"),
        (1, {"row": {"columns": [2, 1], "tombstone": True}}, "expected the rows"),
        (3, {"row": {"columns": [3, 1]}}, "expected the rows"),
        (3, {"finalMessage": "Limit Reached"}, "expected the end 'Limit Reached', got None"),
    ],
)
def test_answers_that_differ_are_told(run: Any, place: int, part: Any, reason: str) -> None:
    first, second, table, stream = ASKED["responses"]
    parts = [*table["query"][:place], part, *table["query"][place + 1 :]]
    code, lines = run([{**ASKED, "responses": [first, second, {"query": parts}, stream]}])
    assert code == 1
    assert lines[0].startswith("own/pull: answer 0: ")
    assert reason in lines[0]


def test_the_order_of_rows_counts_where_a_case_says_so(run: Any) -> None:
    _, lines = run([{**ASKED, "output_conditions": {"verifyOrder": True}}])
    assert "answer 0: expected the rows" in lines[0]


def test_report_and_tags(run: Any, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    _, lines = run([GOOD], "--json", str(report), "--tags")
    assert "own: 1 passed, 0 failed" in lines
    content = json.loads(report.read_text(encoding="utf-8"))
    assert content["passed"] == 1
    assert content["tags"]["own"] == {"passed": 1, "failed": 0}
    assert content["cases"][0]["status"] == "passed"


def test_cases_can_be_chosen(run: Any) -> None:
    _, lines = run([GOOD, case("other", CREATE)], "--id", "filter")
    assert lines[-1] == "1 passed, 0 failed"


def test_a_place_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path / "nothing")])
