"""What pages ask of an application, on stand-ins: no broker, no Spark."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.console.application.console import ApplicationConsoleApp
from millstream.console.application.restores import Restores
from millstream.errors import MillstreamError, StreamsError
from millstream.hosting.restoring import LOGGER
from millstream.server.guard import Guard
from millstream.server.settings import ServerSettings
from millstream.server.views.app import OPEN_PATHS, ViewsApp
from millstream.spark.client import State
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription, TopicRecord
from millstream.task.watching.watch import Seen, SeenNode

from ..server.asgi import Reply, call
from ..server.world import World as StoreWorld
from ..server.world import topology
from .memory import MemoryLooking

SETTINGS = ServerSettings(users=(("ann", "word"), ("eve", "look")), readers=("eve",))


class Application:
    """Stands for a `KafkaStreams`."""

    def __init__(self) -> None:
        self.topology = topology()
        self.config = StreamsConfig(application_id="shop", dead_letter_queue_topic="aside")
        self.state = State.RUNNING
        self.is_paused = False
        self.failure: MillstreamError | None = None
        self.of_batches: dict[str, float] = {}

    def metrics(self) -> dict[str, float]:
        return {
            "process-total": 40.0,
            "records-lag": 2.0,
            "commit-total": 4.0,
            "dropped-records-total": 1.0,
            **self.of_batches,
        }

    def tasks(self) -> dict[str, dict[str, Any]]:
        return {"0_0": {"processed": 40, "dropped": 1, "stream_time": 5, "state_bytes": 9, "offsets": {"events-0": 3}}}

    def lanes(self) -> dict[int, list[str]]:
        return {0: ["0_0"], 1: ["0_1"]}

    def look(self) -> list[Seen]:
        return [Seen(10, 5, {"KSTREAM-SOURCE-0000000000": SeenNode(7.0, 5)})]


class World:
    """The console of an application in memory."""

    def __init__(self, directory: Path) -> None:
        self.application = Application()
        self.stores = StoreWorld(directory)
        self.topics = InMemoryTopics()
        for name in ("events", "aside"):
            self.topics.create(TopicDescription(name))
        views = self.stores.views()
        self.rest = ViewsApp(views, "shop", SETTINGS)
        looking = MemoryLooking(self.topics)
        self.app = ApplicationConsoleApp(self.rest, self.application, views, looking, self.topics, SETTINGS)
        self._guard = Guard(self.app, SETTINGS, [*OPEN_PATHS, *self.app.open_paths])

    def ask(self, path: str, user: str = "ann:word") -> Reply:
        headers = {"authorization": "Basic " + base64.b64encode(user.encode()).decode()}
        return asyncio.run(call(self._guard, path, headers=headers))

    def got(self, path: str) -> Any:
        reply = self.ask(path)
        assert reply.status == 200, reply.body
        return reply.json()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path)
    yield found
    found.app.close()
    found.rest.close()
    found.stores.close()


def test_its_pages_and_its_stores_are_at_one_place(world: World) -> None:
    assert world.ask("/console").status == 200
    session = world.got("/console/api/session")
    assert (session["kind"], session["name"], session["mayChange"]) == ("application", "shop", True)
    assert world.ask("/console/api/session", "eve:look").json()["mayChange"] is False
    assert "counts" in {store["name"] for store in world.got("/stores")["stores"]}
    assert world.ask("/stores", "ann:wrong").status == 401


def test_how_it_does_continuously(world: World) -> None:
    world.app.history.sample()
    world.app.history.sample()
    found = world.got("/console/api/overview")
    (application,) = found["queries"]
    assert (application["processed"], application["commits"], application["batchSeconds"]) == (40, 4, None)
    assert "batch" not in found["history"]


def test_how_it_does(world: World) -> None:
    world.application.of_batches = {"batch-seconds": 0.25, "batch-records": 10.0}
    world.app.history.sample()
    world.app.history.sample()
    found = world.got("/console/api/overview")
    (application,) = found["queries"]
    assert (application["state"], application["processed"], application["lag"]) == ("RUNNING", 40, 2)
    assert (application["batchSeconds"], application["batchRecords"], application["dropped"]) == (0.25, 10, 1)
    assert "events" in application["sources"]
    assert found["history"]["lag"] == {"shop": [2.0]}
    assert found["history"]["batch"] == {"shop": [0.25]}
    (last,) = found["history"]["times"]
    assert world.got(f"/console/api/overview?after={last}")["history"]["times"] == []
    assert world.ask("/console/api/overview?after=now").status == 400
    world.application.is_paused = True
    assert world.got("/console/api/overview")["state"] == "PAUSED"
    world.application.state, world.application.failure = State.ERROR, StreamsError("it broke")
    assert world.got("/console/api/overview")["queries"][0]["errors"] == ["it broke"]


def test_its_topology_has_figures_and_tells_where_functions_are_written(world: World) -> None:
    for number in range(5):
        world.topics.write(TopicRecord("events", None, str(number).encode(), 0))
    found = world.got("/console/api/topology/shop")
    assert found["figures"] == {"events-0": 3}
    assert found["lags"] == {"events-0": 2}
    assert found["seen"]["nodes"]["KSTREAM-SOURCE-0000000000"]["rate"] == 7.0
    assert found["sql"] is None
    assert world.got("/console/api/topology/shop/figures") == {
        part: found[part] for part in ("figures", "lags", "seen")
    }
    assert world.ask("/console/api/topology/other").status == 404


def test_tasks_with_their_lanes_and_how_far_they_are_restored(world: World) -> None:
    world.app.restores.start()
    logging.getLogger(LOGGER).warning("task 0_1: restoring from Kafka, 41 % (823 records, 412 per second, 2 s left)")
    found = world.got("/console/api/tasks")
    first, second = found["tasks"]
    assert (first["task"], first["lane"], first["restored"], first["processed"]) == ("0_0", 0, None, 40)
    assert (second["task"], second["lane"], second["restored"]) == ("0_1", 1, 41)
    assert second["rest"] == "823 records, 412 per second, 2 s left"
    (copy,) = found["copies"]["stores"]["counts"]
    assert (copy["instance"], copy["here"]) == ("one", True)
    stale = copy["partitions"][0].pop("staleMs")  # by the clock
    assert isinstance(stale, int)
    assert copy["partitions"][0] == {"partition": 0, "standby": False, "position": 0, "end": 0}


def test_a_restore_that_was_given_up_is_not_shown_for_ever() -> None:
    now = [0.0]
    restores = Restores(lambda: now[0])
    restores.start()
    logging.getLogger(LOGGER).warning("task 0_0: restored 2,000,000 records from Kafka in 4.9 s")
    logging.getLogger(LOGGER).warning("task 0_1: restoring from Kafka, 41 % (823 records, 412 per second, 2 s left)")
    assert restores.by_task().keys() == {"0_0", "0_1"}
    now[0] = 60.0  # its lane was killed
    assert restores.by_task().keys() == {"0_0"}
    restores.stop()


def test_its_dead_letters_are_where_it_says(world: World) -> None:
    assert world.got("/console/api/letters") == ["aside"]
