"""How soon pages open with much to show, and whether a long topic slows the browser."""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from tests.console.browser import Browser

from millstream import StreamsConfig
from millstream.console.service.console import ServiceConsole
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic
from millstream.ksqldb.server import KsqlServer
from millstream.server.settings import ServerSettings

from .filling import KEYS, fill

QUERIES, TOPICS, MILLION = 50, 200, 1_000_000
#: How many rows of a table are shown at most, how often a page is opened, and how long frames are counted.
SHOWN, _TIMES, _FRAMES_SECONDS = 500, 5, 10
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


def measure_pages(bootstrap: str, directory: Path) -> None:
    """Print what was measured."""
    config = StreamsConfig(bootstrap_servers=bootstrap, num_stream_threads=2, state_dir=directory / "state")
    with closing(Admin(config)) as admin:
        admin.create_topics([NewTopic(f"topic-{number:03}", 1, {}) for number in range(TOPICS)])
        admin.create_topics([NewTopic("million", 4, {}), NewTopic("orders", 2, {})])
    fill(bootstrap, "million", MILLION)
    fill(bootstrap, "orders", 2 * KEYS)
    settings = {"ksql.streams.auto.offset.reset": "earliest"}
    with KsqlServer(config, settings, ServerSettings(), around=ServiceConsole) as server:
        for statement in (
            "CREATE STREAM orders (id STRING KEY, product STRING, amount INT) "
            "WITH (kafka_topic='orders', value_format='JSON');",
            "CREATE TABLE totals AS SELECT id, SUM(amount) AS amount FROM orders GROUP BY id;",
            *(f"CREATE STREAM q{n} AS SELECT * FROM orders WHERE amount > {n};" for n in range(QUERIES - 1)),
        ):
            _execute(server.url, statement)
        browser = Browser(server.url, directory / "chromium")
        try:
            browser.open("state/TOTALS")
            browser.wait(lambda: f"first {SHOWN} rows" in browser.text("#found"), 180)
            _open(browser)
            _follow(browser, bootstrap)
        finally:
            browser.driver.quit()


def _open(browser: Browser) -> None:
    for page, selector in PAGES.items():
        times = [browser.driver.execute_async_script(_OPEN, page, selector) for _ in range(_TIMES)]
        print(f"{page:<16} {times[0]:6.0f} ms at first, {statistics.median(times):6.0f} ms usually")


def _follow(browser: Browser, bootstrap: str) -> None:
    browser.open("topics/million")
    browser.one("[data-page=topics] td.data")
    _tell_frames("a topic of a million is shown", browser)
    browser.one("#follow").click()
    browser.says("Waiting for new records")
    writing = threading.Thread(target=_trickle, args=(bootstrap,))
    writing.start()
    _tell_frames("it is followed while 300,000 records come", browser)
    writing.join()
    print(f"{len(browser.all('#live tbody tr'))} rows are shown; {browser.text('#live-status')}")


def _trickle(bootstrap: str) -> None:
    """300,000 records, in about the time in which frames are counted."""
    for _ in range(30):
        fill(bootstrap, "million", 10_000)
        time.sleep(_FRAMES_SECONDS / 40)


def _tell_frames(what: str, browser: Browser) -> None:
    gaps = browser.driver.execute_async_script(_FRAMES, _FRAMES_SECONDS)
    slow = sum(gap > 200 for gap in gaps)
    seconds = f"{len(gaps)} frames in {_FRAMES_SECONDS} s"
    print(f"{what}: {seconds}, the longest {max(gaps):.0f} ms, {slow} above 200 ms")


def _execute(url: str, statement: str) -> None:
    address = urlsplit(url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    connection.request("POST", "/ksql", json.dumps({"ksql": statement}), {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text
