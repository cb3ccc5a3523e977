"""A server with data in it, and a browser."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.ksqldb.system.server_process import Client

from millstream.config import StreamsConfig
from millstream.console.app import Console
from millstream.kafka.broker import DevBroker
from millstream.ksqldb.server import KsqlServer
from millstream.server.settings import ServerSettings

from .browser import Browser, missing

ADMIN = ("admin", "a-good-password")
READER = ("eve", "only-to-look")
HOSTILE = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>"

_START_SECONDS = 180.0


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    bootstrap_servers: str

    def client(self, user: tuple[str, str] = ADMIN) -> Client:
        """Asks as somebody."""
        made = Client(self.url)
        made.headers["content-type"] = "application/json"
        made.headers["authorization"] = "Basic " + base64.b64encode(":".join(user).encode()).decode()
        return made

    def run(self, statements: str) -> Any:
        """Execute statements."""
        return self.client().ksql(statements)

    def rows(self, query: str) -> list[list[Any]]:
        """What a pull query answers."""
        return self.client().rows(query)

    def write(self, topic: str, key: str | None, value: str | None, headers: dict[str, str] | None = None) -> None:
        """Write a record."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 0})
        producer.produce(topic, value, key, headers={name: text.encode() for name, text in (headers or {}).items()})
        assert producer.flush(30) == 0


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if why := missing():
        pytest.skip(why)
    directory = tmp_path_factory.mktemp("console")
    http = ServerSettings(users=(ADMIN, READER), readers=(READER[0],))
    settings = {"ksql.service.id": "shop_"}  # the broker is its own
    with DevBroker(directory / "broker") as broker:
        config = StreamsConfig(
            bootstrap_servers=broker.bootstrap_servers, num_stream_threads=2, state_dir=directory / "state"
        )
        with KsqlServer(config, settings, http, around=Console) as server:
            found = Served(server.url, broker.bootstrap_servers)
            _fill(found)
            _wait_for_rows(found)
            yield found


def _fill(served: Served) -> None:
    served.run(
        "CREATE STREAM orders (id STRING KEY, product STRING, amount INT) "
        "WITH (kafka_topic='orders', partitions=2, value_format='JSON');"
        "CREATE STREAM letters_topic (id STRING KEY, product STRING) "
        "WITH (kafka_topic='orders-dlq', partitions=1, value_format='JSON');"
        "CREATE TABLE totals AS SELECT id, COUNT(*) AS orders, SUM(amount) AS amount FROM orders GROUP BY id;"
        "CREATE STREAM large AS SELECT * FROM orders WHERE amount > 50;"
    )
    for number in range(40):
        order = {"PRODUCT": ("tea", "salt", "flour")[number % 3], "AMOUNT": 7 * number % 100}
        served.write("orders", f"customer-{number % 8}", json.dumps(order))
    for number in range(3):
        served.write(
            "orders-dlq",
            f"broken-{number}",
            '{"PRODUCT":"tea","AMOUNT":"many"}',
            {
                "source": "till",
                "__streams.errors.exception": "ValueError" if number else "KeyError",
                "__streams.errors.message": "many is no number",
                "__streams.errors.stacktrace": "Traceback (most recent call last): ...",
                "__streams.errors.topic": "orders",
                "__streams.errors.partition": "1",
                "__streams.errors.offset": str(number),
            },
        )


def _wait_for_rows(served: Served) -> None:
    """Spark takes its time to start."""
    deadline = time.monotonic() + _START_SECONDS
    while len(served.rows("SELECT id FROM totals;")) < 8:
        assert time.monotonic() < deadline, "the queries do not begin"
        time.sleep(0.5)


@pytest.fixture(scope="package")
def browser(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(served.url, tmp_path_factory.mktemp("chromium"))
    yield found
    found.driver.quit()


@pytest.fixture
def admin_browser(browser: Browser) -> Browser:
    """A browser with the console open, by one who may change things."""
    browser.resize(1280, 900)
    browser.log_in(*ADMIN)
    return browser
