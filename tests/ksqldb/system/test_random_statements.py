"""After many creates and drops in random order, given to two servers, a third agrees, and nothing is left over."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Message

from millstream.kafka.group_admin import GroupAdmin

from .conftest import Serve
from .server_process import ServerProcess, until

STATEMENTS = int(os.environ.get("MILLSTREAM_STATEMENTS", "0"))
SHAPES = (
    "CREATE STREAM {name} AS SELECT * FROM {source} WHERE amount > 1;",
    "CREATE TABLE {name} AS SELECT id, COUNT(*) AS n FROM {source} GROUP BY id;",
    "CREATE TABLE {name} AS SELECT amount, COUNT(*) AS n FROM {source} GROUP BY amount;",
    "CREATE TABLE {name} AS SELECT id, SUM(amount) AS s FROM {source} WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;",
)


def after_others(server: ServerProcess, sql: str, number: int) -> Any:
    """The answer to a statement that comes after another one, also of another server."""
    (told,) = server.ksql(sql, commandSequenceNumber=number)
    return told


@pytest.mark.skipif(STATEMENTS == 0, reason="takes minutes: `make soak` runs it; or set MILLSTREAM_STATEMENTS=24")
def test_many_creates_and_drops(
    serve: Serve, service: str, groups: GroupAdmin, consume: Callable[..., list[Message]]
) -> None:
    source = f"{service}orders"
    chance = random.Random(20)
    servers = [serve("--threads", "1"), serve("--threads", "1")]
    for server in servers:
        server.wait()
    servers[0].ksql(
        f"CREATE STREAM {source} (id STRING KEY, amount INT) "
        f"WITH (kafka_topic='{source}', partitions=2, value_format='JSON');"
        f"INSERT INTO {source} VALUES ('a', 2);"
    )
    there: dict[str, str] = {}
    after = 0
    for number in range(STATEMENTS):
        server = chance.choice(servers)
        if there and chance.random() < 0.45:
            name = chance.choice(list(there))
            kind = there.pop(name)
            told = after_others(server, f"DROP {kind} {name} DELETE TOPIC;", after)
        else:
            name = f"{service}x{number}"
            shape = chance.choice(SHAPES)
            told = after_others(server, shape.format(name=name, source=source), after)
            there[name] = shape.split()[1]
        assert told["commandStatus"]["status"] == "SUCCESS", told
        after = told["commandSequenceNumber"]
    third = serve("--threads", "1").wait()
    told = after_others(third, "SHOW QUERIES;", after)
    assert sorted(name for query in told["queries"] for name in query["sinks"]) == sorted(map(str.upper, there))
    queries = [query["id"] for query in told["queries"]]
    for server in (*servers, third):
        after_others(server, "SHOW QUERIES;", after)
        assert server.queries() == dict.fromkeys(queries, "RUNNING")
        assert server.sources().keys() == {name.upper() for name in (source, *there)}
    prefix = f"_confluent-ksql-{service}query_"

    def left_over() -> list[str]:
        internal = [topic for topic in groups.topics() if topic.startswith(prefix)]
        return [topic for topic in internal if not any(f"{prefix}{query}-" in topic for query in queries)]

    until(lambda: not left_over(), 15)
    wanted = {name.upper() for name in there}
    until(lambda: {topic for topic in groups.topics() if topic.startswith(f"{service}x".upper())} == wanted, 15)
    for name in there:
        assert len(consume(name.upper(), 1)) == 1
    for server in servers:
        server.kill()
    third.ksql(f"INSERT INTO {source} VALUES ('b', 3);")
    for name in there:
        assert len(consume(name.upper(), 2, timeout=60)) == 2
