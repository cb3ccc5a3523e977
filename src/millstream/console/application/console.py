"""The console of an application of the DSL: what its pages ask of the process that runs it."""

from __future__ import annotations

from typing import Any, Protocol

from starlette.requests import Request

import millstream
from millstream.config import StreamsConfig
from millstream.console.app import ConsoleApp, asker_of, number_of
from millstream.console.application.restores import Restores
from millstream.console.application.tasks import RunningTasks, copies_json, tasks_json
from millstream.console.history import Figures, History
from millstream.console.kafka.ends import Ends
from millstream.console.kafka.looking import KafkaLooking, Looking
from millstream.console.kafka.pages import KafkaPages
from millstream.console.topology import seen_json, topology_json
from millstream.errors import MillstreamError
from millstream.registry.schemas import SchemaRegistry
from millstream.registry.settings import connect, registry_settings
from millstream.server.guard import Application
from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings
from millstream.spark.client import KafkaStreams, State
from millstream.sql.engine.runners.kafka_topics import KafkaTopics
from millstream.sql.engine.topics import Topics
from millstream.task.watching.watch import Seen
from millstream.topology.description import SinkDescription, SourceDescription
from millstream.topology.pictures.picture import parts
from millstream.topology.topology import Topology
from millstream.views.api import Views


class RunningApplication(RunningTasks, Protocol):
    """What is asked of an application; `KafkaStreams` is one."""

    @property
    def state(self) -> State:
        """Where it is in its life."""

    @property
    def is_paused(self) -> bool:
        """Whether it is paused."""

    @property
    def failure(self) -> MillstreamError | None:
        """Why it failed, if it did."""

    @property
    def topology(self) -> Topology:
        """What it runs."""

    @property
    def config(self) -> StreamsConfig:
        """How it runs."""

    def metrics(self) -> dict[str, float]:
        """Numbers of the whole application."""

    def look(self) -> list[Seen]:
        """What lanes have seen of its nodes lately."""


class ApplicationConsoleApp(ConsoleApp):
    """The console, made of its parts.

    Args:
        other: who answers what is not the console's: the HTTP of its views.
        running: the application.
        views: its views.
        looking: asks Kafka.
        topics: writes to Kafka.
        settings: limits.
    """

    def __init__(
        self,
        other: Application,
        running: RunningApplication,
        views: Views,
        looking: Looking,
        topics: Topics,
        settings: ServerSettings,
    ) -> None:
        self._running = running
        self._views = views
        self._name = running.config.application_id
        letters = running.config.dead_letter_queue_topic
        self._kafka = KafkaPages(
            looking, lambda: topics, self._registry, self._name, () if letters is None else (letters,)
        )
        self._ends = Ends(looking)
        self.history = History(self._noted)
        self.restores = Restores()
        self._drawn = topology_json(self._name, running.topology, self._name)
        looks = {
            "/session": self._session,
            "/overview": self._overview,
            "/names": lambda request: {"sources": [], "queries": [self._name]},
            "/topology/{query}": lambda request: {**self._drawn, **self._topology_figures(request)},
            "/topology/{query}/figures": self._topology_figures,
            "/tasks": self._tasks,
        }
        super().__init__(other, {**looks, **self._kafka.looks()}, self._kafka.changes(), settings)

    def close(self) -> None:
        """Take no more requests, and leave the brokers."""
        self.history.close()
        self.restores.stop()
        super().close()
        self._kafka.close()

    def _registry(self) -> SchemaRegistry | None:
        found = registry_settings(self._running.config.client)
        return connect(found) if "url" in found else None

    def _noted(self) -> Figures:
        metrics = self._running.metrics()
        found = {"processed": metrics["process-total"], "lag": metrics["records-lag"]}
        if "batch-seconds" in metrics:  # continuously there are no batches
            found["batch"] = metrics["batch-seconds"]
        return {self._name: found}

    def _session(self, request: Request) -> Any:
        asker = asker_of(request)
        return {
            "kind": "application",
            "user": asker.name,
            "mayChange": asker.may_change,
            "version": millstream.__version__,
            "name": self._name,
            "state": self._state,
        }

    @property
    def _state(self) -> str:
        state = self._running.state
        return "PAUSED" if state is State.RUNNING and self._running.is_paused else state.name

    def _overview(self, request: Request) -> Any:
        running, metrics = self._running, self._running.metrics()
        sources, sinks = _topics(running.topology)
        return {
            "state": self._state,
            "queries": [
                {
                    "id": self._name,
                    "kind": "APPLICATION",
                    "state": self._state,
                    "sources": sources,
                    "sink": ", ".join(sinks),
                    "processed": int(metrics["process-total"]),
                    "rate": self.history.rates().get(self._name),
                    "lag": int(metrics["records-lag"]),
                    "commits": int(metrics["commit-total"]),
                    "batchSeconds": metrics.get("batch-seconds"),
                    "batchRecords": metrics.get("batch-records"),
                    "dropped": int(metrics["dropped-records-total"]),
                    "errors": [] if running.failure is None else [str(running.failure)],
                }
            ],
            "history": self.history.told(number_of(request, "after")),
            "lanes": len(running.lanes()),
            "totals": {name: round(value, 3) for name, value in metrics.items()},
        }

    def _topology_figures(self, request: Request) -> dict[str, Any]:
        if request.path_params["query"] != self._name:
            raise Problem(404, "UnknownApplication", f"this is application {self._name}")
        figures: dict[str, float] = {}
        for task in self._running.tasks().values():
            figures |= {place: at for place, at in task.get("offsets", {}).items() if at >= 0}
        return {"figures": figures, "lags": self._lags(figures), "seen": seen_json(self._running.look())}

    def _lags(self, figures: dict[str, float]) -> dict[str, int]:
        places = {(place.rpartition("-")[0], int(place.rpartition("-")[2])): at for place, at in figures.items()}
        try:
            ends = self._ends.of(frozenset(places))
        except MillstreamError:
            return {}
        return {f"{at[0]}-{at[1]}": max(0, end - int(places[at])) for at, end in ends.items() if at in places}

    def _tasks(self, request: Request) -> Any:
        return {
            "state": self._state,
            "tasks": tasks_json(self._running, self.restores.by_task()),
            "copies": copies_json(self._views),
        }


class ApplicationConsole(ApplicationConsoleApp):
    """The console around the HTTP of an application's views, see `KafkaStreams`.

    Args:
        streams: the application.
        rest: the HTTP of its views.
        views: the views.
    """

    def __init__(self, streams: KafkaStreams, rest: Application, views: Views) -> None:
        self._topics = KafkaTopics(streams.config)
        super().__init__(rest, streams, views, KafkaLooking(streams.config), self._topics, ServerSettings())
        self.history.start()
        self.restores.start()

    def close(self) -> None:
        """Take no more requests, and leave the brokers. Safe to call again."""
        super().close()
        self._topics.close()


def _topics(topology: Topology) -> tuple[list[str], list[str]]:
    """What is read from outside, and what is written."""
    sources: list[str] = []
    sinks: list[str] = []
    for part in parts(topology.describe()):
        for node in part.nodes:
            if isinstance(node, SourceDescription):
                sources += [topic for topic in node.topics if topic not in topology.internal_topics]
            elif isinstance(node, SinkDescription) and node.topic is not None:
                sinks += [] if node.topic in topology.internal_topics else [node.topic]
    return list(dict.fromkeys(sources)), list(dict.fromkeys(sinks))
