"""The pages of topics and dead letters: what they ask, of any console."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request

from millstream.console.app import Changes, Looks, asker_of, number_of, whole_number
from millstream.console.kafka.letters import DeadLetters, Letter
from millstream.console.kafka.looking import Looking
from millstream.console.kafka.topics import following_json, groups_json, produce, records_json, topic_json, topics_json
from millstream.registry.schemas import SchemaRegistry
from millstream.server.problems import BadRequest
from millstream.sql.engine.topics import Topics

#: How many records are shown unless more are asked for.
_FEW = 50


class KafkaPages:
    """Answers what the pages of topics and dead letters ask.

    Args:
        looking: asks Kafka.
        topics: writes to Kafka.
        registry: where schemas are, if anywhere.
        name: what the service or the application is called in Kafka; its own topics begin with it.
        letters: topics of dead letters that are known.
    """

    def __init__(
        self,
        looking: Looking,
        topics: Callable[[], Topics],
        registry: Callable[[], SchemaRegistry | None],
        name: str,
        letters: tuple[str, ...] = (),
    ) -> None:
        self._looking = looking
        self._topics = topics
        self._registry = registry
        self._name = name
        self._letters = DeadLetters(looking, topics, registry, name, letters)

    def looks(self) -> Looks:
        """What is asked with GET."""
        looking = self._looking
        return {
            "/topics": lambda request: topics_json(looking, self._name),
            "/topics/{topic}": lambda request: topic_json(looking, request.path_params["topic"]),
            "/topics/{topic}/groups": lambda request: groups_json(looking, request.path_params["topic"]),
            "/topics/{topic}/records": self._records,
            "/topics/{topic}/new": self._new_records,
            "/letters": lambda request: self._letters.likely_topics(),
            "/letters/{topic}": lambda request: self._letters.letters(request.path_params["topic"]),
            "/letters/{topic}/{partition:int}/{offset:int}": lambda request: self._letters.letter(
                **request.path_params
            ),
        }

    def changes(self) -> Changes:
        """What is asked with POST."""
        return {
            "/topics/{topic}/records": self._produce,
            "/letters/{topic}/replay": self._replay,
            "/letters/{topic}/done": lambda request, given: self._mark(request, given, done=True),
            "/letters/{topic}/open": lambda request, given: self._mark(request, given, done=False),
        }

    def close(self) -> None:
        """Leave the brokers."""
        self._looking.close()

    def _records(self, request: Request) -> Any:
        count = number_of(request, "count")
        return records_json(
            self._looking,
            request.path_params["topic"],
            self._registry(),
            partition=number_of(request, "partition"),
            offset=number_of(request, "offset"),
            count=_FEW if count is None else count,
        )

    def _new_records(self, request: Request) -> Any:
        given = request.query_params.get("after")
        return following_json(self._looking, request.path_params["topic"], self._registry(), _places(given))

    def _produce(self, request: Request, given: Any) -> Any:
        produce(self._topics(), request.path_params["topic"], given)
        return {"written": 1}

    def _replay(self, request: Request, given: Any) -> Any:
        count = self._letters.replay(request.path_params["topic"], _letters(given), asker_of(request).name)
        return {"replayed": count}

    def _mark(self, request: Request, given: Any, *, done: bool) -> Any:
        count = self._letters.mark(request.path_params["topic"], _letters(given), asker_of(request).name, done=done)
        return {"marked": count}


def _places(text: str | None) -> dict[int, int] | None:
    """`0:12,1:7`, offsets by partition."""
    if text is None:
        return None
    parts = [part.partition(":") for part in text.split(",") if part]
    return {whole_number("a partition", partition): whole_number("an offset", offset) for partition, _, offset in parts}


def _letters(given: Any) -> list[Letter]:
    try:
        return msgspec.convert(given["letters"], list[Letter])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise BadRequest(
            "the body names letters", detail=str(error), hint='{"letters": [{"partition": 0, "offset": 5}]}'
        ) from error
