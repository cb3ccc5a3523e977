"""Statements that nobody would write: mutations of statements that somebody would.

`bench/sql_fuzz.py` runs many, `test_fuzz.py` a few.
"""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from millstream.sql.errors import SqlError

SEEDS = (
    "CREATE STREAM rides (id BIGINT KEY, driver STRING, fare DECIMAL(10, 2), taken TIMESTAMP) "
    "WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=3);",
    "CREATE OR REPLACE SOURCE TABLE drivers (name VARCHAR PRIMARY KEY, home STRUCT<city STRING, zip INT>, "
    "tags ARRAY<STRING>, since BIGINT) WITH (kafka_topic='drivers', format='JSON', TIMESTAMP='since');",
    "CREATE STREAM IF NOT EXISTS raw (k STRING KEY, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS, "
    "t BYTES HEADER('trace')) WITH (KAFKA_TOPIC='raw', FORMAT='DELIMITED', VALUE_DELIMITER='TAB');",
    "CREATE STREAM long_rides WITH (PARTITIONS=1, VALUE_FORMAT='JSON') AS SELECT id, fare * 1.1 AS gross, "
    "UCASE(driver) FROM rides WHERE fare > 10.50 "
    "AND NOT (driver LIKE 'a!%%' ESCAPE '!') PARTITION BY driver EMIT CHANGES;",
    "CREATE TABLE per_driver AS SELECT driver, COUNT(*) AS n, SUM(fare) total, TOPK(fare, 3) FROM rides "
    "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES, RETENTION 2 DAYS, GRACE PERIOD 5 SECONDS) "
    "GROUP BY driver HAVING COUNT(*) > 1 EMIT FINAL;",
    "CREATE TABLE visits AS SELECT driver, LATEST_BY_OFFSET(id) FROM rides WINDOW SESSION (5 MINUTES) GROUP BY driver;",
    "CREATE STREAM joined AS SELECT r.id, d.*, d.home->city, d.home->* FROM rides r LEFT JOIN drivers AS d "
    "ON r.driver = d.name INNER JOIN raw WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 1 DAY ON r.driver = raw.k;",
    "INSERT INTO long_rides WITH (QUERY_ID='q7') SELECT * FROM rides WHERE fare BETWEEN 1 AND 2e3;",
    "INSERT INTO rides (id, driver, fare) VALUES (1, 'it''s', -12.30);",
    "INSERT INTO raw VALUES ('k', ARRAY[STRUCT(key := 'a', value := NULL)], TO_BYTES('00', 'hex'));",
    "SELECT * FROM per_driver WHERE driver IN ('a', 'b') AND WINDOWSTART >= '2024-01-01T00:00:00' LIMIT 10;",
    "SELECT CASE WHEN fare < 5 THEN 'low' WHEN fare < 50 THEN 'mid' ELSE 'high' END AS band, "
    "CASE driver WHEN 'x' THEN 1 END, CAST(fare AS STRING), -fare, +1, 9223372036854775807, tags[1], m['k'] "
    "FROM rides EMIT CHANGES;",
    "SELECT TRANSFORM(tags, x => UCASE(x) || '!'), REDUCE(MAP('a' := 1), 0, (s, k, v) => s + v), "
    "FILTER(tags, (t) => t IS NOT NULL) FROM drivers EMIT CHANGES;",
    "SELECT DATEADD(DAYS, 1, DATE '2024-02-29'), TIME '10:00', TIMESTAMP '2024-01-01T10:00:00Z', EXPLODE(ARRAY[1, 2]) "
    "FROM rides WHERE a IS NOT DISTINCT FROM b OR c IS DISTINCT FROM d EMIT CHANGES;",
    "DROP STREAM IF EXISTS joined DELETE TOPIC;",
    "DROP TABLE per_driver;",
    "ALTER STREAM rides ADD COLUMN tip DOUBLE, ADD note STRING;",
    "CREATE TYPE IF NOT EXISTS address AS STRUCT<street STRING, codes MAP<STRING, ARRAY<INT>>>;",
    "DROP TYPE IF EXISTS address;",
    "CREATE SINK CONNECTOR IF NOT EXISTS c WITH ('connector.class'='x', \"a.b\"='y');",
    "DROP CONNECTOR c;",
    "SHOW STREAMS EXTENDED;",
    "LIST ALL TOPICS EXTENDED;",
    "SHOW SOURCE CONNECTORS;",
    "SHOW VARIABLES;",
    "DESCRIBE rides EXTENDED;",
    "DESCRIBE FUNCTION ucase;",
    "DESCRIBE TABLES;",
    "EXPLAIN SELECT * FROM rides EMIT CHANGES;",
    "EXPLAIN CSAS_LONG_RIDES_3;",
    "PRINT 'rides' FROM BEGINNING INTERVAL 2 LIMIT 5;",
    "TERMINATE ALL;",
    "PAUSE CSAS_X_1;",
    "RESUME CSAS_X_1;",
    "SET 'auto.offset.reset'='earliest';",
    "UNSET 'auto.offset.reset';",
    "ALTER SYSTEM 'a'='b';",
    "DEFINE topic = '''quoted''';",
    "UNDEFINE topic;",
    "ASSERT NOT EXISTS TOPIC t WITH (PARTITIONS=1) TIMEOUT 3 SECONDS;",
    "ASSERT SCHEMA SUBJECT 'rides-value' ID 3 TIMEOUT 10 SECONDS;",
    "SELECT `quoted name`, \"Mixed\", ${topic}, '${topic}' FROM `rides` -- a comment\n WHERE /* another */ true;",
)

_PIECES = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "AS",
        "NULL",
        "CAST(",
        "CASE",
        "WHEN",
        "END",
        "NOT",
        "AND",
        "OR",
        "IN (",
        "IS",
    ),
    *(
        "ARRAY[",
        "MAP(",
        "STRUCT(",
        "STRUCT<",
        "ARRAY<",
        "MAP<",
        "DECIMAL(",
        "WINDOW",
        "EMIT CHANGES",
        "LIMIT",
        "WITH (",
        "KEY",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "->",
        "=>",
        ":=",
        ",",
        ";",
        ".",
        "*",
        "||",
        "-",
        "--",
        "/*",
        "*/",
        "'",
        '"',
        "`",
        "${x}",
    ),
    *(
        "0",
        "-1",
        "2147483648",
        "9223372036854775808",
        "1e400",
        "1e-400",
        ".5",
        "1.",
        "00",
        "1a",
        "99999999999999999999.9",
    ),
    *(
        "''",
        "'a'",
        "`a`",
        '"b"',
        "x",
        "ROWTIME",
        "ROWKEY",
        "WINDOWSTART",
        "COUNT(*)",
        "int",
        "é",
        "\u2028",
        "\x00",
        "\U0001f600",
    ),
    *("DATE '2024-13-01'", "TIMESTAMP 'x'", "TIME '25:00'", "9999999999999 DAYS", "NaN", "true", "a.b", "a->b", "a[1]"),
)
_TOKEN = re.compile(r"\s+|\w+|'[^']*'|`[^`]*`|[^\w\s]")
_WRAPPERS = (
    ("(", ")"),
    ("ABS(", ")"),
    ("CAST(", " AS STRING)"),
    ("ARRAY[", "]"),
    ("-", ""),
    ("NOT ", ""),
    ("a + ", ""),
    ("f(x => ", ")"),
)


def mutations(seed: int, count: int) -> Iterator[str]:
    """Mutated statements; the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        statement = chance.choice(SEEDS)
        for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
            statement = chance.choice(_MUTATIONS)(statement, chance)
        yield statement


def _remove_text(text: str, chance: random.Random) -> str:
    begin = chance.randrange(len(text) + 1)
    return text[:begin] + text[begin + chance.choice((1, 1, 1, 2, 10, 1000)) :]


def _insert_text(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    piece = chance.choice((chr(chance.randrange(0x20, 0x7F)), chr(chance.randrange(0x3000)), chance.choice(_PIECES)))
    return text[:at] + piece + text[at:]


def _change_case(text: str, chance: random.Random) -> str:
    return chance.choice((text.upper, text.lower, text.swapcase, text.title))()


def _tokens(change: Callable[[list[str], random.Random], None]) -> Callable[[str, random.Random], str]:
    def mutate(text: str, chance: random.Random) -> str:
        tokens = _TOKEN.findall(text)
        if tokens:
            change(tokens, chance)
        return "".join(tokens)

    return mutate


def _remove_token(tokens: list[str], chance: random.Random) -> None:
    del tokens[chance.randrange(len(tokens))]


def _swap_tokens(tokens: list[str], chance: random.Random) -> None:
    first, second = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[first], tokens[second] = tokens[second], tokens[first]


def _replace_token(tokens: list[str], chance: random.Random) -> None:
    tokens[chance.randrange(len(tokens))] = chance.choice((chance.choice(_PIECES), chance.choice(tokens)))


def _repeat_tokens(tokens: list[str], chance: random.Random) -> None:
    begin = chance.randrange(len(tokens))
    piece = tokens[begin : begin + chance.randrange(1, 6)]
    tokens[begin:begin] = piece * chance.choice((1, 1, 1, 2, 50))


def _splice_tokens(tokens: list[str], chance: random.Random) -> None:
    other = _TOKEN.findall(chance.choice(SEEDS))
    tokens[chance.randrange(len(tokens)) :] = other[chance.randrange(len(other)) :]


def _wrap_token(tokens: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    before, after = chance.choice(_WRAPPERS)
    times = chance.choice((1, 1, 2, 5, 20, 300))
    tokens[at] = before * times + tokens[at] + after * times


_MUTATIONS = (
    _remove_text,
    _insert_text,
    _change_case,
    _tokens(_remove_token),
    _tokens(_swap_tokens),
    _tokens(_replace_token),
    _tokens(_replace_token),
    _tokens(_repeat_tokens),
    _tokens(_splice_tokens),
    _tokens(_wrap_token),
)


class _Hang(BaseException):
    pass


@dataclass
class Report:
    """What became of the statements.

    Attributes:
        done: how many gave a result.
        refused: how many gave an error that says what is wrong with the statement.
        wrong: the statements that gave anything else, and what that was.
    """

    done: int = 0
    refused: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)


def fuzz(run: Callable[[str], object], statements: Iterator[str], *, patience: float = 10.0) -> Report:
    """Runs statements; each has to give a result or an `SqlError`, and that soon.

    Args:
        run: executes a statement.
        statements: the statements.
        patience: how many seconds one may take.
    """

    def give_up(number: int, frame: FrameType | None) -> None:
        raise _Hang

    report = Report()
    before = signal.signal(signal.SIGALRM, give_up)
    try:
        for statement in statements:
            signal.setitimer(signal.ITIMER_REAL, patience)
            try:
                run(statement)
                report.done += 1
            except SqlError as error:
                if error.primary:
                    report.refused += 1
                else:
                    report.wrong.append((statement, "an error without a message"))
            except _Hang:
                report.wrong.append((statement, f"no result after {patience} s"))
            except Exception as error:
                report.wrong.append((statement, f"{type(error).__name__}: {error}"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return report
