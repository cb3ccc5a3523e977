"""Servers that execute commands as they come, and servers that replay them, end with the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from millstream.ksqldb.api import ServiceError

from .memory import MemoryCommandTopic, catch_up, make_service, send, shape

_STATEMENTS = 200


def statements(seed: int) -> Iterator[str]:
    """Statements about a few names: many of them cannot be executed."""
    draw = random.Random(seed)
    while True:
        name, other = (f"n{draw.randrange(8)}" for _ in range(2))
        kind = draw.choice(["STREAM", "STREAM", "TABLE"])
        key = "KEY" if kind == "STREAM" else "PRIMARY KEY"
        yield draw.choice(
            [
                f"CREATE {kind} {name} (id INT {key}, v INT) "
                f"WITH (kafka_topic='{other}', value_format='JSON', partitions=1);",
                f"CREATE OR REPLACE STREAM {name} (id INT KEY, v INT, w INT) "
                f"WITH (kafka_topic='{name}', value_format='JSON', partitions=1);",
                f"CREATE STREAM {name} AS SELECT * FROM {other};",
                f"CREATE STREAM IF NOT EXISTS {name} AS SELECT * FROM {other} WHERE v > 1;",
                f"CREATE OR REPLACE STREAM {name} AS SELECT id, v FROM {other} WHERE v > {draw.randrange(9)};",
                f"CREATE TABLE {name} AS SELECT id, COUNT(*) AS n FROM {other} GROUP BY id;",
                f"INSERT INTO {name} SELECT * FROM {other};",
                f"ALTER STREAM {name} ADD COLUMN c{draw.randrange(3)} INT;",
                f"CREATE TYPE {name} AS STRUCT<a INT, b STRING>;",
                f"DROP TYPE IF EXISTS {name};",
                f"DROP {kind} {name} DELETE TOPIC;",
                f"DROP {kind} {name};",
                f"DROP {kind} {name};",
                "TERMINATE ALL;",
                "PAUSE ALL;",
                "RESUME ALL;",
                *(f"{action} {{query}};" for action in ("TERMINATE", "PAUSE", "RESUME")),
            ]
        )


@pytest.mark.parametrize("seed", range(3))
def test_after_many_statements_in_random_order_all_agree(seed: int) -> None:
    topic = MemoryCommandTopic()
    one, two = make_service(topic).start(), make_service(topic).start()
    draw = random.Random(seed)
    executed = 0
    for statement in statements(seed):
        service = draw.choice([one, two])
        queries = [query.id for query in service.context.queries]
        try:
            send(service, statement.replace("{query}", draw.choice(queries or ["NONE_0"])))
        except ServiceError as error:
            assert error.code == 40001, error  # noqa: PT017
            continue
        executed += 1
        if executed == _STATEMENTS:
            break
    assert len(topic.records) > _STATEMENTS / 2
    catch_up(one, topic)
    catch_up(two, topic)
    three = make_service(topic).start()
    assert shape(one) == shape(two) == shape(three)
    assert len(list(three.context.catalogue)) > 0
    assert one.statuses() == two.statuses() == three.statuses()
    assert "ERROR" not in one.statuses().values()
    for service in (one, two, three):
        service.close()
