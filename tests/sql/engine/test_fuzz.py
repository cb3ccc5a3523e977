"""Mutated statements give a result or a statement error, nothing else.

`MILLSTREAM_FUZZ` says how many; the whole 100,000 take some twenty minutes.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator

from millstream.sql.engine.api import Ksql
from millstream.sql.errors import StatementError

COUNT = int(os.environ.get("MILLSTREAM_FUZZ", "500"))

#: What is mutated: scripts whose statements build on each other, and which together use most of the grammar.
SCRIPTS = [
    """
    CREATE TYPE place AS STRUCT<x DOUBLE, y DOUBLE, tags ARRAY<STRING>>;
    CREATE STREAM visits (id INT KEY, page STRING, spent BIGINT, cost DECIMAL(9, 2), spot place, more MAP<STRING, INT>)
        WITH (KAFKA_TOPIC='visits', VALUE_FORMAT='JSON', PARTITIONS=2, TIMESTAMP='spent');
    CREATE TABLE users (id INT PRIMARY KEY, name STRING, born DATE, seen TIMESTAMP, wakes TIME, photo BYTES)
        WITH (KAFKA_TOPIC='users', FORMAT='JSON', REPLICAS=1);
    CREATE STREAM long_visits WITH (VALUE_FORMAT='DELIMITED', PARTITIONS=2) AS
        SELECT id, UCASE(page) AS page, spent / 1000 AS took FROM visits
        WHERE spent > 5 AND page LIKE '/a%' EMIT CHANGES;
    CREATE TABLE totals AS SELECT page, COUNT(*) AS n, SUM(cost) AS cost, TOPK(spent, 3) AS longest FROM visits
        WINDOW HOPPING (SIZE 10 MINUTES, ADVANCE BY 1 MINUTE, RETENTION 1 DAY, GRACE PERIOD 5 MINUTES)
        GROUP BY page HAVING COUNT(*) > 1 EMIT FINAL;
    CREATE STREAM named AS SELECT v.id AS id, v.page, u.name, u.born FROM visits v LEFT JOIN users u ON v.id = u.id;
    INSERT INTO visits (id, page, spent, cost, spot)
        VALUES (1, '/a', 10, 1.5, STRUCT(x := 1.0, y := 2e0, tags := ARRAY['t']));
    DESCRIBE totals EXTENDED;
    EXPLAIN CREATE STREAM copy AS SELECT * FROM visits PARTITION BY page;
    DROP STREAM IF EXISTS named DELETE TOPIC;
    """,
    """
    SET 'auto.offset.reset' = 'earliest';
    DEFINE topic = 'pairs';
    CREATE SOURCE STREAM pairs (a INT KEY, b INT KEY, c ARRAY<INT>, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
        WITH (KAFKA_TOPIC='${topic}', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');
    CREATE STREAM flat AS SELECT a, b, EXPLODE(c) AS item, AS_VALUE(a) AS a2 FROM pairs;
    CREATE STREAM numbers AS SELECT a, b, CASE WHEN item BETWEEN 1 AND 5 THEN 'low' ELSE 'high' END AS sized,
        TRANSFORM(ARRAY[item, -item], x => x * 2) AS twice, CAST(item AS STRING) || '!' AS text FROM flat;
    CREATE STREAM left_one (k STRING KEY, v INT) WITH (KAFKA_TOPIC='l', VALUE_FORMAT='AVRO');
    CREATE STREAM right_one (k STRING KEY, v INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='PROTOBUF');
    CREATE STREAM both WITH (KEY_FORMAT='JSON') AS SELECT ROWKEY AS k, l.v + r.v AS total FROM left_one l
        FULL OUTER JOIN right_one r WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 10 SECONDS ON l.k = r.k;
    CREATE STREAM kept AS SELECT * FROM pairs WHERE a IS NOT NULL;
    CREATE OR REPLACE STREAM kept AS SELECT *, a + b AS sum FROM pairs WHERE a > 0;
    ALTER STREAM left_one ADD COLUMN w MAP<STRING, DOUBLE>;
    INSERT INTO left_one (ROWTIME, k, v) VALUES (1234, 'x', 1 + 2);
    SHOW QUERIES EXTENDED;
    SELECT k, COUNT(*) FROM left_one WINDOW SESSION (30 SECONDS) GROUP BY k EMIT CHANGES LIMIT 5;
    SELECT * FROM both WHERE k IN ('a', 'b') AND NOT total = 5;
    PRINT 'l' FROM BEGINNING LIMIT 3;
    TERMINATE ALL;
    """,
]

TOKENS = re.compile(r"'(?:[^']|'')*'|`[^`]*`|\w+|\s+|[^\w\s]")
ODD = "'\"`;()<>,.*-=9aZé\x00\n$ "


def mutated(text: str, random_: random.Random, words: list[str]) -> str:
    tokens = TOKENS.findall(text)
    for _ in range(random_.choice([1, 1, 1, 2, 3])):
        at = random_.randrange(len(tokens))
        change = random_.randrange(6)
        if change == 0:
            tokens[at] = ""
        elif change == 1:
            tokens[at] = random_.choice(words)
        elif change == 2:
            tokens.insert(at, f" {random_.choice(words)} ")
        elif change == 3:
            tokens.insert(at, tokens[at])
        elif change == 4:
            other = random_.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            inside = random_.randrange(len(tokens[at]) + 1)
            tokens[at] = tokens[at][:inside] + random_.choice(ODD) + tokens[at][inside:]
    return "".join(tokens)


def rounds(count: int) -> Iterator[tuple[list[str], random.Random]]:
    """Scripts, one after the other, until so many statements were mutated."""
    made = 0
    for seed in range(count):
        random_ = random.Random(seed)
        script = SCRIPTS[seed % len(SCRIPTS)]
        yield [f"{part};" for part in script.split(";") if part.strip()], random_
        made += script.count(";")
        if made >= count:
            return


def test_mutated_statements() -> None:
    words = [word for script in SCRIPTS for word in TOKENS.findall(script) if not word.isspace()]
    answered = refused = 0
    for script, random_ in rounds(COUNT):
        with Ksql.in_memory() as ksql:
            for statement in script:
                for text in (mutated(statement, random_, words), statement):
                    try:
                        for entity in ksql.execute(text):
                            entity.to_json()
                        answered += 1
                    except StatementError as error:
                        refused += bool(str(error))
    assert answered > refused / 10
    assert refused > 0


def test_the_scripts_themselves_are_right() -> None:
    for script in SCRIPTS:
        with Ksql.in_memory() as ksql:
            for statement in script.split(";"):
                if statement.strip() and not statement.strip().startswith("SELECT"):
                    ksql.execute(f"{statement};")
