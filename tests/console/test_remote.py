"""The console of a server elsewhere."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.keys import Keys
from tests.ksqldb.system.server_process import Client, Refused, until

from millstream.console.remote import RemoteConsole
from millstream.errors import ArgumentError
from millstream.server.settings import ServerSettings

from .browser import Browser
from .conftest import ADMIN, Served


@pytest.fixture
def remote(served: Served) -> Iterator[str]:
    console = RemoteConsole(served.url, ServerSettings())
    console.start()
    yield console.url.removesuffix("/console")
    console.close()


def test_a_browser_works_with_it(remote: str, served: Served, tmp_path: Path) -> None:
    browser = Browser(remote, tmp_path)
    try:
        browser.log_in(*ADMIN)
        browser.says("CTAS_TOTALS")
        browser.open("sql")
        sql = "SELECT id, amount FROM orders EMIT CHANGES LIMIT 3;"
        browser.one("#statement").send_keys(sql, Keys.CONTROL + Keys.ENTER)
        browser.says("3 rows in", "#answer")
        assert browser.errors() == []
    finally:
        browser.driver.quit()


def test_it_passes_on_who_asks_and_what_is_answered(remote: str, served: Served) -> None:
    allowed, stranger = served.client(), Client(remote)
    allowed.url = remote
    assert [entity["@type"] for entity in allowed.ksql("SHOW TABLES;")] == ["tables"]
    assert allowed.request("GET", "/console/api/overview")[0] == 200
    assert allowed.request("GET", "/console/static/main.js")[0] == 200
    with pytest.raises(Refused) as refused:
        stranger.ksql("SHOW TABLES;")
    assert refused.value.status == 401
    with pytest.raises(Refused) as wrong:
        allowed.ksql("NONSENSE;")
    assert wrong.value.body["error_code"] == 40001


def test_rows_come_as_they_are_and_leaving_ends_the_query(remote: str, served: Served) -> None:
    parts, headers = urlsplit(remote), served.client().headers

    def pushed() -> list[str]:
        (entity,) = served.client().ksql("SHOW QUERIES;")
        return [query["queryString"] for query in entity["queries"] if query["queryType"] == "PUSH"]

    connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=60)
    sql = "SELECT id, amount, 'remote' AS mark FROM orders EMIT CHANGES;"
    connection.request("POST", "/query-stream", json.dumps({"sql": sql}), {**headers, "accept": "*/*"})
    answer = connection.getresponse()
    assert json.loads(answer.readline())["columnNames"] == ["ID", "AMOUNT", "MARK"]
    served.write("orders", "customer-9", json.dumps({"PRODUCT": "tea", "AMOUNT": 3}))
    begun = time.monotonic()
    assert json.loads(answer.readline()) == ["customer-9", 3, "remote"]
    assert time.monotonic() - begun < 30
    assert any("remote" in text for text in pushed())
    answer.close()
    connection.close()
    until(lambda: not any("remote" in text for text in pushed()))


def test_other_pages_cannot_use_it(remote: str) -> None:
    parts = urlsplit(remote)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=60)
    body = json.dumps({"ksql": "SHOW TABLES;"})
    connection.request("POST", "/ksql", body, {"origin": "http://elsewhere", "content-type": "application/json"})
    assert connection.getresponse().status == 403
    connection.close()


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(ArgumentError, match="no address"):
        RemoteConsole("ftp://x", ServerSettings())
    console = RemoteConsole("http://127.0.0.1:1", ServerSettings())
    console.start()
    try:
        status, answer = Client(console.url.removesuffix("/console")).request("GET", "/info")
        assert status == 502
        assert b"no server answers at http://127.0.0.1:1" in answer
    finally:
        console.close()
