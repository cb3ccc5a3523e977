"""Two servers of one service share its statements and its work; when one dies, the other goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Message

from millstream.kafka.group_admin import GroupAdmin

from .conftest import Serve
from .server_process import EARLIEST, until

CREATE = """
CREATE STREAM orders (id STRING KEY, amount INT) WITH (kafka_topic='{topic}', partitions=4, value_format='JSON');
CREATE TABLE counts WITH (kafka_topic='{topic}-counts') AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;
"""
#: Else several changes of a key are one record.
EVERY_CHANGE = {**EARLIEST, "statestore.cache.max.bytes": 0}
KEYS, ROUND = 7, 700


def records(first: int) -> list[tuple[str, str]]:
    return [(f"k{n % KEYS}", json.dumps({"AMOUNT": n})) for n in range(first, first + ROUND)]


def counts(messages: list[Message]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for message in messages:
        key, value = message.key(), message.value()
        assert key is not None
        assert value is not None
        found.setdefault(key.decode(), []).append(json.loads(value)["N"])
    return found


def test_one_is_killed_while_records_flow(
    serve: Serve,
    service: str,
    groups: GroupAdmin,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
) -> None:
    topic = f"orders-{service}"

    def check(total: int) -> None:
        found = counts(consume(f"{topic}-counts", total, timeout=60))
        assert found == {f"k{n}": list(range(1, total // KEYS + 1)) for n in range(KEYS)}

    first, second = serve("--threads", "1"), serve("--threads", "1")
    first.wait()
    second.wait()
    created = first.ksql(CREATE.format(topic=topic), streamsProperties=EVERY_CHANGE)
    assert [entity["commandStatus"]["status"] for entity in created] == ["SUCCESS", "SUCCESS"]
    query = created[1]["commandStatus"]["queryId"]
    until(lambda: second.queries() == {query: "RUNNING"})
    assert second.sources() == first.sources()
    produce(topic, records(0))
    check(ROUND)
    group = f"_confluent-ksql-{service}-lanes"
    until(lambda: len(groups.describe(group).members) == 2)
    flow = threading.Thread(target=produce, args=(topic, records(ROUND)))
    flow.start()
    first.kill()
    flow.join()
    third = serve("--threads", "1")
    check(2 * ROUND)
    third.wait()
    assert third.queries() == second.queries() == {query: "RUNNING"}
    assert third.sources() == second.sources()
    produce(topic, records(2 * ROUND))
    second.kill_driver()
    until(lambda: not second.processes(), 15)
    check(3 * ROUND)
    expected = {f"k{n}": 3 * ROUND // KEYS for n in range(KEYS)}

    def pulled() -> bool:
        rows: list[Any] = third.rows("SELECT * FROM counts;")
        return dict(rows) == expected

    until(pulled)
    assert third.stop() == 0
    until(lambda: not third.processes(), 15)
