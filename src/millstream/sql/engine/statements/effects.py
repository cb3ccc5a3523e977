"""What a statement does to Kafka and to the schema registry: all of it, or nothing.

A statement first checks everything that can be checked; then it carries out its effects, which may still be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Self

from millstream.errors import MillstreamError
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements.inference import NewSchema
from millstream.sql.engine.topics import TopicDescription
from millstream.sql.errors import tell
from millstream.sql.formats import RegisteredSchema, SchemaRegistry

#: What was done, in words, and what takes it back.
_Done = tuple[str, Callable[[], None]]


class Effects:
    """Carries out the effects of one statement. When it ends with an error, they are taken back, the last one first.

    What cannot be taken back is told in the error's detail.

    Args:
        context: what is changed.
    """

    def __init__(self, context: Context) -> None:
        self._topics = context.topics
        self._done: list[_Done] = []
        #: The registry, if there is one, for what registers schemas as part of the statement.
        self.registry: SchemaRegistry | None = (
            None if context.registry is None else _NotedRegistry(context.registry, self._done)
        )

    def create_topic(self, topic: TopicDescription) -> None:
        """Make a topic, or see that the one that is there is like it."""
        if self._topics.create(topic):
            self._done.append((f"topic {topic.name}", partial(self._topics.delete, topic.name)))

    def register(self, schemas: Iterable[NewSchema]) -> None:
        """Tell the registry schemas."""
        for schema in schemas:
            if self.registry is not None:
                schema.register(self.registry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        left = []
        while self._done:
            what, take_back = self._done.pop()
            try:
                take_back()
            except MillstreamError as failure:
                left.append(f"{what} ({failure.primary})")
        if left:
            tell(error, f"left behind: {', '.join(left)}")


class _NotedRegistry:
    """A registry that notes what is new in it."""

    def __init__(self, registry: SchemaRegistry, done: list[_Done]) -> None:
        self._registry = registry
        self._done = done
        self.latest = registry.latest
        self.by_id = registry.by_id
        self.lookup = registry.lookup
        self.version = registry.version
        self.withdraw = registry.withdraw

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        before = self._registry.latest(subject)
        number = self._registry.register(subject, schema)
        if before is None or before.id != number:
            after = self._registry.latest(subject)
            if after is not None and after.id == number:  # else the subject had it all along, among its older ones
                take_back = partial(self._registry.withdraw, subject, number)
                self._done.append((f"a schema of subject {subject}", take_back))
        return number
