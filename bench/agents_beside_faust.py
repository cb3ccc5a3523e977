"""An agent that sums per key, in Faust and in Millstream, on the same broker, one after the other.

    .venv/bin/python bench/agents_beside_faust.py --faust PYTHON [--records N] [--seconds N]

PYTHON is that of an environment with faust-streaming. Both run the same text (bench/peers/summing_agent.py) on one
partition, at least once, with tables in memory, and send every new sum. The clock runs while the number of sums grows
from a tenth to all of them, or until the seconds are over.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic

AGENT = Path(__file__).parent / "peers" / "summing_agent.py"
KEYS = 1_000
PATIENCE = 180.0


def produce(bootstrap: str, records: int) -> None:
    rng = random.Random(7)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number in range(records):
        value = orjson.dumps({"id": number, "amount": rng.randrange(200), "note": "x" * 20})
        producer.produce("summing-orders", value, f"customer-{rng.randrange(KEYS)}")
        producer.poll(0)
    producer.flush(60)


def written(consumer: Consumer, topic: str) -> int:
    return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10, cached=False)[1]


def rate(bootstrap: str, python: str, module: str, records: int, seconds: float, directory: Path) -> float:
    """Sums per second."""
    name = f"summing-{module.partition('.')[0]}"
    Admin(StreamsConfig(bootstrap_servers=bootstrap)).create_topics([NewTopic(f"{name}-sums", 1)])
    environment = {**os.environ, "SUMMING": module, "SUMMING_ID": name, "SUMMING_BROKER": bootstrap}
    if module == "faust":
        environment.pop("PYTHONPATH", None)  # its environment is its own
    else:
        environment["SUMMING_CHECKPOINT"] = str(directory / "checkpoint")
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": name})
    with (directory / f"{name}.log").open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own script
            [python, str(AGENT), "worker", "--loglevel", "error"],
            env=environment, cwd=directory, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE
        while written(consumer, f"{name}-sums") < records // 10:
            if process.poll() is not None or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        first, start = written(consumer, f"{name}-sums"), time.monotonic()
        last, end = first, start
        while last < records and end - start < seconds and process.poll() is None:
            time.sleep(0.05)
            last, end = written(consumer, f"{name}-sums"), time.monotonic()
        if last == first:
            raise SystemExit(f"{module} wrote {last} sums:\n{(directory / f'{name}.log').read_text()[-2000:]}")
        return (last - first) / (end - start)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        consumer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faust", required=True)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    broker = DevBroker()
    broker.start()
    try:
        bootstrap = broker.bootstrap_servers
        Admin(StreamsConfig(bootstrap_servers=bootstrap)).create_topics([NewTopic("summing-orders", 1)])
        produce(bootstrap, arguments.records)
        with tempfile.TemporaryDirectory() as directory:
            rates = {
                module: rate(bootstrap, python, module, records, arguments.seconds, Path(directory))
                for module, python, records in (
                    ("faust", arguments.faust, 10_000),
                    ("millstream.agents", sys.executable, arguments.records),
                )
            }
    finally:
        broker.stop()
    for module, found in rates.items():
        print(f"{module:<20}{found:>12,.0f} sums/s")
    print(f"{rates['millstream.agents'] / rates['faust']:.1f} times")


if __name__ == "__main__":
    main()
