"""A filter, a projection and an aggregate: written in SQL, and by hand in the Python DSL.

.venv/bin/python bench/sql.py [--records N] [--rounds N]

Both run exactly once on Spark, in turns in one Spark session, over the same orders on a real broker, and must end with
the same numbers. Each one's best round counts; the first is left out, for the JVM is cold. Writes bench/out/sql.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
from confluent_kafka import Consumer, TopicPartition

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.kafka.broker import DevBroker
from millstream.sql.engine.api import Ksql
from millstream.topology.topology import Topology

LIMIT = 0.8


def in_sql(sink: str) -> Topology:
    """The query, as ksqlDB's users write it."""
    ksql = Ksql.in_memory({"auto.offset.reset": "earliest"})
    ksql.execute(f"""
        CREATE STREAM orders (customer STRING KEY, id BIGINT, region STRING, amount BIGINT, note STRING)
          WITH (kafka_topic='{data.ORDERS_TOPIC}', value_format='JSON');
        CREATE TABLE totals WITH (kafka_topic='{sink}') AS
          SELECT customer, COUNT(*) AS orders, SUM(amount * 1.2e0) AS total
          FROM orders WHERE amount > 50 GROUP BY customer;
    """)
    return ksql.queries[-1].topology


def in_python(sink: str) -> Topology:
    """The same, as users of the DSL write it."""
    builder = StreamsBuilder()
    (
        builder.stream(data.ORDERS_TOPIC, Consumed(Serdes.string, Serdes.json, offset_reset="earliest"))
        .filter(lambda customer, order: order["amount"] > 50)
        .map_values(lambda order: {"amount": order["amount"] * 1.2})
        .group_by_key(Grouped(Serdes.string, Serdes.json))
        .aggregate(
            lambda: {"ORDERS": 0, "TOTAL": 0.0},
            lambda customer, order, totals: {
                "ORDERS": totals["ORDERS"] + 1,
                "TOTAL": totals["TOTAL"] + order["amount"],
            },
            Materialized("totals", value=Serdes.json),
        )
        .to_stream()
        .to(sink, Produced(Serdes.string, Serdes.json))
    )
    return builder.build()


def run(build: Callable[[str], Topology], bootstrap: str, records: int) -> tuple[float, dict[bytes, Any]]:
    """Records per second, and the last total of each customer."""
    sink = f"bench-totals-{time.time_ns()}"
    data.create_topics(bootstrap, sink)
    config = StreamsConfig(
        application_id=f"bench-sql-{time.time_ns()}",
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        num_stream_threads=2,
    )
    with KafkaStreams(build(sink), config) as streams:
        while streams.metrics()["records-consumed-total"] < records:
            if streams.failure is not None:
                raise streams.failure
            time.sleep(0.005)
        begun, ended, _ = streams.statistics.span()
    return records / (ended - begun), totals(bootstrap, sink)


def totals(bootstrap: str, topic: str) -> dict[bytes, Any]:
    """What a topic says last of each key."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-sql",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    waiting = set(range(data.PARTITIONS))
    consumer.assign([TopicPartition(topic, partition, 0) for partition in waiting])
    found: dict[bytes, Any] = {}
    while waiting:
        for message in consumer.consume(10_000, 1.0):
            if message.error() is not None:
                waiting.discard(message.partition())
            else:
                found[message.key() or b""] = json.loads(message.value() or b"")
    consumer.close()
    return found


def same(one: dict[bytes, Any], two: dict[bytes, Any]) -> bool:
    """Sums of fractions may differ in their last digits: orders are added in another order after a new batch."""
    return one.keys() == two.keys() and all(
        one[key]["ORDERS"] == two[key]["ORDERS"] and abs(one[key]["TOTAL"] - two[key]["TOTAL"]) < 1e-6 for key in one
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    speeds: dict[str, list[float]] = {"sql": [], "python": []}
    with DevBroker() as broker:
        bootstrap = broker.bootstrap_servers
        data.create_topics(bootstrap, data.ORDERS_TOPIC)
        data.produce(bootstrap, data.ORDERS_TOPIC, data.orders(arguments.records))
        for number in range(arguments.rounds):
            results = []
            for name, build in (("python", in_python), ("sql", in_sql)):
                speed, found = run(build, bootstrap, arguments.records)
                results.append(found)
                if number:
                    speeds[name].append(speed)
                print(f"round {number}  {name:<7}{speed:>12,.0f} records/s", flush=True)
            assert same(*results), "SQL and Python give different totals"
    best = {name: max(found) for name, found in speeds.items()}
    ratio = best["sql"] / best["python"]
    print(f"SQL {best['sql']:,.0f}, Python {best['python']:,.0f} records/s: {ratio:.2f} (at least {LIMIT})")
    out = Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    row = {name: round(value) for name, value in best.items()}
    (out / "sql.json").write_text(json.dumps({**row, "ratio": round(ratio, 2), "limit": LIMIT}, indent=2) + "\n")


if __name__ == "__main__":
    main()
