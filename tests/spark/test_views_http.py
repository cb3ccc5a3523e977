"""An application on Spark that answers questions to its stores over HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any

from millstream import ServerSettings, Topology
from millstream.spark.client import KafkaStreams

from .conftest import Apps
from .crashes import wait_until


def test_its_stores_are_asked_over_http(
    apps: Apps, counting: Callable[..., Topology], make_topic: Callable[..., str], produce: Callable[..., None]
) -> None:
    source, out = make_topic(2, name="clicks"), make_topic(2, name="counts")
    produce(source, [("alice", "x"), ("bob", "x"), ("alice", "x")])
    streams = KafkaStreams(counting(source, out), apps.config(), server=ServerSettings())
    assert streams.url is None
    with streams:
        connection = http.client.HTTPConnection(str(streams.url).removeprefix("http://"), timeout=60)

        def value(key: str) -> Any:
            connection.request("GET", f"/stores/counts/keys/{key}")
            return json.loads(connection.getresponse().read()).get("value")

        wait_until(lambda: (value("alice"), value("bob")) == (2, 1), "the counts", 120)
        assert streams.store("counts").get("alice") == 2  # the same views
        connection.close()
    assert streams.url is None
