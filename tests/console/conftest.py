"""A server with data in it, and a browser."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.ksqldb.system.server_process import Client, until

from millstream.config import StreamsConfig
from millstream.console.service.console import ServiceConsole
from millstream.kafka.admin import Admin
from millstream.kafka.broker import DevBroker
from millstream.kafka.topics import NewTopic
from millstream.ksqldb.server import KsqlServer
from millstream.server.settings import ServerSettings

from .browser import Browser, missing

ADMIN = ("admin", "a-good-password")
READER = ("eve", "only-to-look")
HOSTILE = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>"

_START_SECONDS = 180.0


def _client(url: str, user: tuple[str, str]) -> Client:
    made = Client(url)
    made.headers["content-type"] = "application/json"
    made.headers["authorization"] = "Basic " + base64.b64encode(":".join(user).encode()).decode()
    return made


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    bootstrap_servers: str

    def client(self, user: tuple[str, str] = ADMIN) -> Client:
        """Asks as somebody."""
        return _client(self.url, user)

    def run(self, statements: str) -> Any:
        """Execute statements."""
        return self.client().ksql(statements)

    def rows(self, query: str) -> list[list[Any]]:
        """What a pull query answers."""
        return self.client().rows(query)

    def write(
        self, topic: str, key: str | None, value: str | bytes | None, headers: dict[str, str] | None = None
    ) -> None:
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
        with KsqlServer(config, settings, http, around=ServiceConsole) as server:
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
                "__streams.errors.stacktrace": "Traceback (most recent call last): ...\nat node PARSE of task 0_0\n",
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


@dataclass(frozen=True)
class Running:
    """An application in a process of its own, with its console."""

    url: str
    write: Callable[..., None]

    def client(self) -> Client:
        """Asks it."""
        return _client(self.url, ADMIN)


@pytest.fixture(scope="package")
def application(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """`shop.py`, as people run it, with traffic."""
    directory = tmp_path_factory.mktemp("shop")
    (directory / "users").write_text(f"{':'.join(ADMIN)}\n{':'.join(READER)}:readonly\n")
    with contextlib.closing(Admin(StreamsConfig(bootstrap_servers=served.bootstrap_servers))) as admin:
        topics = {"sales": 2, "prices": 1, "income": 1, "shop-dlq": 1}
        admin.create_topics([NewTopic(name, count, {}) for name, count in topics.items()])
    for price in (3, 4, 5):
        served.write("prices", "tea", price.to_bytes(8, "big"))
    served.write("sales", "customer-1", "this is no JSON")
    command = [sys.executable, "-m", "millstream.cli", "run", str(Path(__file__).parent / "shop.py"), "--console", "-q"]
    command += ["--bootstrap-servers", served.bootstrap_servers, "--users-file", str(directory / "users")]
    environment = {**os.environ, "XDG_STATE_HOME": str(directory)}
    selling = Selling(served)
    told = directory / "told"
    with told.open("wb") as errors:
        process = subprocess.Popen(command, env=environment, stderr=errors)  # noqa: S603 - it is ours
    try:
        url = until(lambda: re.search(r"the console is at (\S+)/console", told.read_text()), _START_SECONDS)[1]
        selling.start()
        found = Running(url, served.write)
        until(lambda: b'"tea"' in found.client().request("GET", "/stores/income/keys")[1], _START_SECONDS)
        yield found
    finally:
        selling.stop()
        process.terminate()
        process.wait(60)


class Selling:
    """Writes sales all the time, so that figures move."""

    def __init__(self, served: Served) -> None:
        self._producer = Producer({"bootstrap.servers": served.bootstrap_servers, "linger.ms": 20})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(0.05):
            for number in range(40):
                sale = {"product": ("tea", "salt", "flour")[number % 3], "amount": number % 5}
                self._producer.produce("sales", json.dumps(sale), f"customer-{number % 8}")
            self._producer.flush(10)


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


@pytest.fixture
def application_browser(browser: Browser, application: Running) -> Iterator[Browser]:
    """The same with the console of the application."""
    before, browser.url = browser.url, application.url
    browser.resize(1280, 900)
    browser.log_in(*ADMIN)
    yield browser
    browser.url = before
