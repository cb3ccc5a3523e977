"""A server that is stopped goes on where it was; one with a queries file takes no statements."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Message

from .conftest import Serve
from .server_process import Refused, until

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
SET 'statestore.cache.max.bytes' = '0';
CREATE STREAM orders (id STRING KEY, amount INT) WITH (kafka_topic='{topic}', partitions=2, value_format='JSON');
CREATE TABLE counts WITH (kafka_topic='{topic}-counts') AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;
"""
KEYS, ROUND = 5, 500


def records(first: int) -> list[tuple[str, str]]:
    return [(f"k{n % KEYS}", json.dumps({"AMOUNT": n})) for n in range(first, first + ROUND)]


@pytest.fixture
def check(service: str, consume: Callable[..., list[Message]]) -> Callable[[int], None]:
    """`check(total)`: every count from 1 to n once."""

    def check(total: int) -> None:
        found: dict[bytes, list[int]] = {}
        for message in consume(f"{service}-counts", total, timeout=60):
            found.setdefault(message.key() or b"", []).append(json.loads(message.value() or b"")["N"])
        assert found == {f"k{n}".encode(): list(range(1, total // KEYS + 1)) for n in range(KEYS)}

    return check


def test_the_only_server_is_stopped_and_started_again(
    serve: Serve, service: str, produce: Callable[..., None], check: Callable[[int], None]
) -> None:
    server = serve().wait()
    server.ksql(STATEMENTS.format(topic=service))
    queries = server.queries()
    produce(service, records(0))
    check(ROUND)
    produce(service, records(ROUND))
    assert server.stop() == 0
    until(lambda: not server.processes(), 15)
    produce(service, records(2 * ROUND))
    again = serve().wait()
    assert again.queries() == queries
    check(3 * ROUND)
    assert dict(until(lambda: again.rows("SELECT * FROM counts;"))) == {f"k{n}": 300 for n in range(KEYS)}


def test_headless(
    serve: Serve, service: str, tmp_path: Path, produce: Callable[..., None], check: Callable[[int], None]
) -> None:
    file = tmp_path / "app.sql"
    file.write_text(STATEMENTS.format(topic=service))
    server = serve("--queries-file", str(file)).wait()
    produce(service, records(0))
    check(ROUND)
    for path, body in (
        ("/ksql", {"ksql": "SHOW STREAMS;"}),
        ("/ksql", {"ksql": "CREATE STREAM more AS SELECT * FROM orders;"}),
        ("/ksql/terminate", {}),
    ):
        with pytest.raises(Refused) as refused:
            server.post(path, body)
        assert refused.value.status == 400
        assert "headless" in refused.value.body["message"]
    assert server.rows("SELECT * FROM counts WHERE id = 'k1';") == [["k1", 100]]
    assert server.request("GET", "/healthcheck")[0] == 200
    server.kill()
    produce(service, records(ROUND))
    serve("--queries-file", str(file)).wait()
    check(2 * ROUND)
