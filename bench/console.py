"""The console: how soon its pages open, whether much data slows the browser, and what an application pays for it.

.venv/bin/python bench/console.py [--records 5000000] [--only pages|throughput]

Pages: a server with 50 queries, 200 topics, a table of 10,000 keys and a topic of a million records; Debian's Chromium
on the same machine opens each page several times, and follows the topic while records are written to it. Throughput:
an application goes through a backlog, with and without somebody who asks what the pages of overview and topology ask,
as often as they do; the browser itself is left out, as it usually runs elsewhere.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from confluent_kafka import Producer

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.console.application.console import ApplicationConsole
from millstream.console.service.console import ServiceConsole
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic
from millstream.ksqldb.server import KsqlServer
from millstream.server.settings import ServerSettings

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.console.browser import Browser, missing

QUERIES, TOPICS, KEYS, MILLION = 50, 200, 10_000, 1_000_000
#: What is on a page once it is open.
PAGES = {
    "overview": "[data-page=overview] tbody tr",
    "topology": "[data-page=topology] [data-node]",
    "sql": "#statement",
    "state/TOTALS": "#found",
    "topics": "[data-page=topics] .list li",
    "topics/million": "[data-page=topics] td.data",
    "letters": "[data-page=letters] form",
    "lanes": "[data-page=lanes] tbody tr",
}
_OPEN = """
const [page, selector, done] = arguments, began = performance.now();
const look = () => document.querySelector(selector) ? done(performance.now() - began) : requestAnimationFrame(look);
document.querySelector("main").replaceChildren();
location.hash = `#/${page}`;
if (location.hash === `#/${page}`) window.dispatchEvent(new HashChangeEvent("hashchange"));
requestAnimationFrame(look);
"""
_FRAMES = """
const [seconds, done] = arguments, gaps = [], began = performance.now();
let last = began;
const frame = (now) => {
  gaps.push(now - last);
  last = now;
  now - began < seconds * 1000 ? requestAnimationFrame(frame) : done(gaps);
};
requestAnimationFrame(frame);
"""


def filled(producer: Producer, topic: str, count: int, keys: int) -> None:
    """Write records."""
    for number in range(count):
        value = json.dumps({"AMOUNT": number % 100, "PRODUCT": "tea"})
        while True:
            try:
                producer.produce(topic, value, f"key-{number % keys}")
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush(120)


def measure_pages(bootstrap: str, directory: Path) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "compression.type": "lz4"})
    config = StreamsConfig(bootstrap_servers=bootstrap, num_stream_threads=2, state_dir=directory / "state")
    with closing(Admin(config)) as admin:
        admin.create_topics([NewTopic(f"topic-{number:03}", 1, {}) for number in range(TOPICS)])
        admin.create_topics([NewTopic("million", 4, {}), NewTopic("orders", 2, {})])
    filled(producer, "million", MILLION, KEYS)
    filled(producer, "orders", 2 * KEYS, KEYS)
    settings = {"ksql.streams.auto.offset.reset": "earliest"}
    with KsqlServer(config, settings, ServerSettings(), around=ServiceConsole) as server:
        address = urlsplit(server.url)
        statements = [
            "CREATE STREAM orders (id STRING KEY, product STRING, amount INT) "
            "WITH (kafka_topic='orders', value_format='JSON');",
            "CREATE TABLE totals AS SELECT id, SUM(amount) AS amount FROM orders GROUP BY id;",
            *(f"CREATE STREAM q{n} AS SELECT * FROM orders WHERE amount > {n};" for n in range(QUERIES - 1)),
        ]
        for statement in statements:
            asked(str(address.hostname), address.port or 0, "/ksql", {"ksql": statement})
        browser = Browser(server.url, directory / "chromium")
        try:
            browser.open("state/TOTALS")
            browser.wait(lambda: "500 rows" in browser.text("#found"), 180)
            for page, selector in PAGES.items():
                times = [browser.driver.execute_async_script(_OPEN, page, selector) for _ in range(5)]
                print(f"{page:<16} {times[0]:6.0f} ms at first, {statistics.median(times):6.0f} ms usually")
            browser.open("topics/million")
            browser.one("#follow").click()
            writing = threading.Thread(target=filled, args=(producer, "million", 300_000, KEYS))
            writing.start()
            gaps = browser.driver.execute_async_script(_FRAMES, 10)
            writing.join()
            slow = sum(gap > 200 for gap in gaps)
            print(
                f"following a topic of a million while 300,000 come: {len(gaps)} frames in 10 s, "
                f"the longest {max(gaps):.0f} ms, {slow} above 200 ms; {len(browser.all('#live tr'))} rows shown"
            )
        finally:
            browser.driver.quit()


def asked(host: str, port: int, path: str, body: object = None) -> None:
    """A request, answered with 200."""
    connection = http.client.HTTPConnection(host, port, timeout=60)
    method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
    connection.request(method, path, data, {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text


@contextmanager
def looking(streams: KafkaStreams, pages: list[str]) -> Iterator[None]:
    """Somebody has pages open."""
    over = threading.Event()

    def ask() -> None:
        address = urlsplit(str(streams.url))
        while pages and not over.is_set():
            for page in pages:
                asked(str(address.hostname), address.port or 0, page)
            over.wait(2.0)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def throughput(bootstrap: str, directory: Path, name: str, records: int, *, watched: bool) -> float:
    """Records per second through a small application."""
    builder = StreamsBuilder()
    orders = builder.stream("backlog", Consumed(Serdes.string, Serdes.json)).filter(
        lambda _, order: order["AMOUNT"] > 3
    )
    counted = orders.group_by_key(Grouped(Serdes.string, Serdes.json)).count(materialized=Materialized("counts"))
    counted.to_stream().to("counted", Produced(Serdes.string, Serdes.long))
    config = StreamsConfig(
        application_id=name,
        bootstrap_servers=bootstrap,
        num_stream_threads=1,
        state_dir=directory / f"{name}-state",
        checkpoint_location=directory / f"{name}-checkpoint",
    )
    streams = KafkaStreams(builder.build(), config, server=ServerSettings(), around=ApplicationConsole)
    with streams, looking(streams, [f"/console/api/topology/{name}", "/console/api/overview"] if watched else []):
        while streams.metrics()["process-total"] < records:
            time.sleep(0.2)
        begun, ended, _ = streams.statistics.span()
    return records / (ended - begun)


def measure_throughput(bootstrap: str, directory: Path, records: int) -> None:
    config = StreamsConfig(bootstrap_servers=bootstrap)
    with closing(Admin(config)) as admin:
        admin.create_topics([NewTopic("backlog", 1, {}), NewTopic("counted", 1, {})])
    filled(
        Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "compression.type": "lz4"}), "backlog", records, KEYS
    )
    rates: dict[bool, list[float]] = {True: [], False: []}
    throughput(bootstrap, directory, "warm-up", records, watched=False)
    for number, watched in itertools.product(range(3), (False, True)):
        rates[watched].append(
            throughput(bootstrap, directory, f"run-{number}-{watched}".lower(), records, watched=watched)
        )
    for watched, found in rates.items():
        print("with the console open:" if watched else "alone:", *(f"{rate:,.0f}" for rate in found))
    alone, seen = statistics.median(rates[False]), statistics.median(rates[True])
    print(f"{alone:,.0f} records per second alone, {seen:,.0f} with the console open: {seen / alone:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--only", choices=["pages", "throughput"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, DevBroker(Path(name) / "broker") as broker:
        if given.only != "throughput":
            if why := missing():
                print(why)
            else:
                measure_pages(broker.bootstrap_servers, Path(name))
        if given.only != "pages":
            measure_throughput(broker.bootstrap_servers, Path(name), given.records)


if __name__ == "__main__":
    main()
