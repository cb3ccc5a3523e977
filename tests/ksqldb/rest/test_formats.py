"""The bytes of every format."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pytest

from millstream.errors import MillstreamError
from millstream.ksqldb.api import AnswerKind, End, Row, ServiceError
from millstream.ksqldb.rest.negotiation import DELIMITED, JSON, PROTOBUF, V1
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

from .conftest import Ask
from .memory import MemoryAnswer, MemoryService

ROWS = (Row((1, "x")), Row((1, None), is_tombstone=True), Row((2, "y")))
HEADER = b'{"queryId":"q1","columnNames":["ID","NAME"],"columnTypes":["INTEGER","STRING"]}'
V1_HEADER = b'{"header":{"queryId":"q1","schema":"`ID` INTEGER, `NAME` STRING"}}'


@pytest.fixture
def body(ask: Ask, service: MemoryService) -> Any:
    """`body(answer, accept)`: what is sent of an answer."""

    def body(answer: MemoryAnswer, accept: str, path: str = "/query-stream") -> bytes:
        service.answers["SELECT"] = answer
        field = "sql" if path == "/query-stream" else "ksql"
        reply = ask(path, {field: "SELECT;"}, headers={"accept": accept})
        assert reply.status == 200, reply
        assert reply.headers["content-type"] == accept
        assert answer.closed.is_set()
        return reply.body

    return body


def test_delimited(body: Any) -> None:
    answer = MemoryAnswer(rows=ROWS, end=End("Limit Reached"))
    assert body(answer, DELIMITED) == HEADER + b'\n[1,"x"]\n[2,"y"]\n'


def test_json(body: Any) -> None:
    answer = MemoryAnswer(rows=ROWS, end=End("Limit Reached"))
    assert body(answer, JSON) == b"[" + HEADER + b',[1,"x"],[2,"y"]]'


@pytest.mark.parametrize("path", ["/query-stream", "/query"])
@pytest.mark.parametrize("kind", [AnswerKind.PUSH, AnswerKind.STREAM_PULL])
@pytest.mark.parametrize("message", ["Limit Reached", None])
def test_v1(body: Any, path: str, kind: AnswerKind, message: str | None) -> None:
    answer = MemoryAnswer(kind, rows=ROWS, end=End(message), keys=("ID",))
    said = (message or "Query Completed").encode()
    assert body(answer, V1, path) == (
        b"[" + V1_HEADER + b',\n{"row":{"columns":[1,"x"]}},\n{"row":{"columns":[1,null],"tombstone":true}},\n'
        b'{"row":{"columns":[2,"y"]}},\n{"finalMessage":"%s"}]' % said
    )


def test_v1_of_a_table(body: Any) -> None:
    answer = MemoryAnswer(AnswerKind.TABLE_PULL, rows=[(1, "x")], end=End(), keys=("ID",))
    assert body(answer, V1) == (
        b'[{"header":{"queryId":"q1","schema":"`ID` INTEGER KEY, `NAME` STRING"}},\n{"row":{"columns":[1,"x"]}}]'
    )
    assert json.loads(body(MemoryAnswer(AnswerKind.TABLE_PULL, end=End()), V1)) == [json.loads(V1_HEADER)]


def test_json_of_query_is_v1(body: Any) -> None:
    answer = MemoryAnswer(AnswerKind.TABLE_PULL, rows=[(1, "x")], end=End())
    assert body(answer, JSON, "/query").startswith(b'[{"header":')


def test_protobuf(body: Any) -> None:
    columns = (*(Column("ID", INTEGER), Column("NAME", STRING)), Column("P", SqlStruct((Field("X", DATE),))))
    answer = MemoryAnswer(AnswerKind.TABLE_PULL, columns, [(300, "x", {"X": 1}), (1, None, None)], End())
    header, first, second = json.loads(body(answer, PROTOBUF))
    schema = header["header"]["protoSchema"]
    assert schema.startswith('syntax = "proto3";')
    assert "message ConnectDefault1 {" in schema
    date = bytes([0x08]) + b"\xb2\x0f" + bytes([0x10, 1, 0x18, 2])
    assert base64.b64decode(first["row"]["protobufBytes"]) == (
        b"\x08\xac\x02\x12\x01x\x1a" + bytes([len(date) + 2, 0x0A, len(date)]) + date
    )
    assert base64.b64decode(second["row"]["protobufBytes"]) == b"\x08\x01"


def test_columns_that_protobuf_does_not_have(ask: Ask, service: MemoryService) -> None:
    answer = MemoryAnswer(columns=(Column("no name", INTEGER),))
    service.answers["SELECT"] = answer
    reply = ask("/query-stream", {"sql": "SELECT"}, headers={"accept": PROTOBUF})
    assert (reply.status, reply.json()["error_code"]) == (400, 40001)
    assert answer.closed.is_set()


ERROR = b'{"@type":"generic_error","error_code":50000,"message":"it broke"}'


@pytest.mark.parametrize(
    ("kind", "accept", "expected"),
    [
        (AnswerKind.PUSH, DELIMITED, HEADER + b'\n[1,"x"]\n' + ERROR + b"\n"),
        (AnswerKind.PUSH, JSON, b"[" + HEADER + b',[1,"x"],' + ERROR + b"]"),
        (
            AnswerKind.PUSH,
            V1,
            b"[" + V1_HEADER + b',\n{"row":{"columns":[1,"x"]}},\n{"errorMessage":' + ERROR + b"},\n]",
        ),
        (
            AnswerKind.TABLE_PULL,
            V1,
            b"[" + V1_HEADER + b',\n{"row":{"columns":[1,"x"]}},\n{"errorMessage":' + ERROR + b"}]",
        ),
    ],
)
def test_errors_after_rows(body: Any, kind: AnswerKind, accept: str, expected: bytes) -> None:
    answer = MemoryAnswer(kind, rows=[(1, "x")], end=End(error=MillstreamError("it broke")))
    assert body(answer, accept) == expected


def test_limits_after_rows_have_their_own_code(body: Any) -> None:
    answer = MemoryAnswer(rows=[(1, "x")], end=End(error=ServiceError(42900, "slower")))
    assert json.loads(body(answer, DELIMITED).splitlines()[-1])["error_code"] == 42900
    answer = MemoryAnswer(rows=[(1, "x")], end=End(error=ServiceError(40001, "bad")))
    assert json.loads(body(answer, DELIMITED).splitlines()[-1])["error_code"] == 50000


@pytest.mark.parametrize("kind", [AnswerKind.TABLE_PULL, AnswerKind.PUSH])
def test_errors_before_rows_have_a_status(ask: Ask, service: MemoryService, kind: AnswerKind) -> None:
    service.answers["SELECT"] = MemoryAnswer(kind, end=End(error=ServiceError(50000, "nobody has it", status=503)))
    reply = ask("/query-stream", {"sql": "SELECT"})
    assert (reply.status, reply.json()["error_code"], reply.json()["message"]) == (503, 50000, "nobody has it")
    assert "content-type" not in reply.headers


def test_a_row_that_cannot_be_written_is_an_error_in_the_stream(body: Any, caplog: pytest.LogCaptureFixture) -> None:
    answer = MemoryAnswer(rows=[(1, "x"), (1, "x", "too many")], columns=(Column("D", DATE), Column("N", STRING)))
    error = json.loads(body(answer, DELIMITED).splitlines()[-1])
    assert (error["error_code"], "strict" in error["message"]) == (50000, False)
    assert "cannot be sent" in caplog.text


@pytest.mark.parametrize(
    ("kind", "name", "value", "shown"),
    [
        (BOOLEAN, "BOOLEAN", True, "true"),
        (INTEGER, "INTEGER", -1, "-1"),
        (BIGINT, "BIGINT", 2**63 - 1, "9223372036854775807"),
        (DOUBLE, "DOUBLE", 1.5, "1.5"),
        (DOUBLE, "DOUBLE", float("nan"), '"NaN"'),
        (DOUBLE, "DOUBLE", float("-inf"), '"-Infinity"'),
        (SqlDecimal(4, 2), "DECIMAL(4, 2)", Decimal("1.50"), "1.50"),
        (SqlDecimal(10, 8), "DECIMAL(10, 8)", Decimal("0E-8"), "0.00000000"),
        (SqlDecimal(30, 0), "DECIMAL(30, 0)", Decimal("1E+20"), "100000000000000000000"),
        (STRING, "STRING", 'a"\u00fc\n', '"a\\"\u00fc\\n"'),
        (BYTES, "BYTES", b"\xfb\xff", '"+/8="'),
        (DATE, "DATE", 18263, '"2020-01-02"'),
        (TIME, "TIME", 11_040_000, '"03:04"'),
        (TIME, "TIME", 11_045_678, '"03:04:05"'),
        (TIMESTAMP, "TIMESTAMP", 1577934245678, '"2020-01-02T03:04:05.678"'),
        (SqlArray(DATE), "ARRAY<DATE>", [0, None], '["1970-01-01",null]'),
        (SqlArray(STRING), "ARRAY<STRING>", ["a", None], '["a",null]'),
        (SqlMap(STRING, DOUBLE), "MAP<STRING, DOUBLE>", {"a": 1.0, "b": None}, '{"a":1.0,"b":null}'),
        (SqlMap(INTEGER, STRING), "MAP<INTEGER, STRING>", {1: "a"}, '{"1":"a"}'),
        (
            SqlStruct((Field("F1", STRING), Field("F2", SqlDecimal(3, 1)))),
            "STRUCT<`F1` STRING, `F2` DECIMAL(3, 1)>",
            {"F1": None, "F2": Decimal("2.0")},
            '{"F1":null,"F2":2.0}',
        ),
        (STRING, "STRING", None, "null"),
        (TIME, "TIME", None, "null"),
    ],
)
def test_values_and_types(body: Any, kind: SqlType, name: str, value: Any, shown: str) -> None:
    answer = MemoryAnswer(columns=(Column("A", kind),), rows=[(value,)], end=End())
    header, row = body(answer, DELIMITED).splitlines()
    assert json.loads(header)["columnTypes"] == [name]
    assert row == f"[{shown}]".encode()


def test_printed_lines(ask: Ask, service: MemoryService) -> None:
    lines = [
        "Key format: JSON",
        "Value format: JSON",
        "rowtime: 2020/01/02 03:04:05.678 Z, key: 1, value: {}, partition: 0",
    ]

    def printing() -> MemoryAnswer:
        answer = MemoryAnswer(AnswerKind.PRINT, (), [(line,) for line in lines], End())
        service.answers["PRINT t"] = answer
        return answer

    printing()
    older = ask("/query", {"ksql": "PRINT t;"}, headers={"accept": V1})
    assert older.body.decode() == "".join(f"{line}\n" for line in lines)
    printing()
    newer = ask("/query-stream", {"sql": "PRINT t;"})
    assert newer.body.decode() == f"{lines[-1]}\n"
    answer = printing()
    assert ask("/query-stream", {"sql": "PRINT t;"}, headers={"accept": JSON}).status == 406
    assert answer.closed.is_set()
