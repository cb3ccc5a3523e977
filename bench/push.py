"""How soon push queries have their rows: `python bench/push.py [--queries 50] [--rows 50] localhost:9092`.

Prints how long it takes from the question to the first row of a record written at once, and how long from a record's
acknowledgement to its row at each of many push queries, half of them of one text, half of texts of their own.
"""

from __future__ import annotations

import argparse
import json
import resource
import threading
import time
import uuid
from statistics import median, quantiles

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_producer
from millstream.kafka.topics import NewTopic
from millstream.ksqldb.api import Answer
from millstream.ksqldb.queries import QueryDesk
from millstream.sql.engine.api import Ksql

_SECONDS = 30.0


class Client:
    """Notes when rows come."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.times: dict[int, float] = {}
        self.changed = threading.Event()
        answer.listen(self._take)

    def _take(self) -> None:
        now = time.perf_counter()
        self.times |= {row.values[0]: now for row in self.answer.take()}
        self.changed.set()

    def wait_for(self, number: int) -> float:
        """Until the row of a number has come; when that was."""
        while number not in self.times:
            self.changed.clear()
            if number not in self.times and not self.changed.wait(_SECONDS):
                raise TimeoutError(f"no row {number}: {self.answer.end}")
        return self.times[number]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--rows", type=int, default=50)
    options = parser.parse_args()
    config = StreamsConfig(application_id="bench", bootstrap_servers=options.bootstrap_servers)
    topic = f"push-{uuid.uuid4().hex[:8]}"
    admin = Admin(config)
    admin.create_topics([NewTopic(topic, 4)])
    producer = make_producer(config, overrides={"linger.ms": "0"})
    ksql = Ksql.in_memory()
    ksql.execute(f"CREATE STREAM s (k STRING KEY, n INT) WITH (kafka_topic='{topic}', value_format='JSON');")
    context = ksql._engine.context
    desk = QueryDesk(config)

    def write(number: int) -> float:
        producer.produce(topic, json.dumps({"N": number}).encode(), str(number).encode())
        producer.flush(_SECONDS)
        return time.perf_counter()

    def show(what: str, seconds: list[float]) -> None:
        last = quantiles(seconds, n=100)[98] if len(seconds) > 1 else seconds[0]
        print(
            f"{what}: median {median(seconds) * 1e3:.0f} ms, p99 {last * 1e3:.0f} ms, most {max(seconds) * 1e3:.0f} ms"
        )

    try:
        first = []
        for number in range(5):
            asked = time.perf_counter()
            client = Client(desk.answer(context, f"SELECT n, {number} FROM s EMIT CHANGES;"))
            write(number)
            first.append(client.wait_for(number) - asked)
            client.answer.close()
        show("first row after the question", first)
        clients = [
            Client(desk.answer(context, f"SELECT n, {number if number % 2 else 'k'} FROM s EMIT CHANGES;"))
            for number in range(options.queries)
        ]
        for client in clients:
            write(0)
            client.wait_for(0)
        late: list[float] = []
        for number in range(100, 100 + options.rows):
            written = write(number)
            late += [client.wait_for(number) - written for client in clients]
        show(f"row after its acknowledgement at {options.queries} queries", late)
        print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
        before = time.process_time()
        time.sleep(5)
        print(f"idle: {(time.process_time() - before) / 5:.1%} of a core in this process")
    finally:
        desk.stop()
        admin.delete_topics([topic])
        admin.close()


if __name__ == "__main__":
    main()
