"""A tiny task around one suppress operator and its buffer."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.processors.context import TaskContext
from millstream.processors.suppress import Suppress, SuppressBufferBuilder
from millstream.records import Headers
from millstream.serdes import AnySerde, Serdes


class SuppressTask:
    """Feeds updates to a suppress operator; `feed` gives back what it forwarded as (key, new, old, timestamp)."""

    def __init__(
        self,
        wait: int,
        *,
        key: AnySerde = Serdes.string,
        value: AnySerde = Serdes.string,
        until_window_closes: bool = False,
        max_records: int | None = None,
        max_bytes: int | None = None,
        shut_down: bool = False,
        logging: bool = True,
    ) -> None:
        self.context = TaskContext()
        self.context.partition = 0
        self.buffer = SuppressBufferBuilder("b", key, value, logging).build()
        self.buffer.init(self.context)
        self.context.stores["b"] = self.buffer
        self.operator = Suppress("b", wait, until_window_closes, max_records, max_bytes, shut_down)
        self.operator.name = "KTABLE-SUPPRESS-0000000003"
        self.operator.forward = self._collect
        self.operator.init(self.context)
        self.outputs: list[tuple[Any, Any, Any, int]] = []
        self.origins: list[tuple[str | None, int, int, Headers | None]] = []

    def _collect(self, key: Any, change: Any, timestamp: int, headers: Headers | None) -> None:
        context = self.context
        assert (context.timestamp, context.headers) == (timestamp, headers)
        self.outputs.append((key, change[0], change[1], timestamp))
        self.origins.append((context.topic, context.partition, context.offset, headers))

    def feed(self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers | None = None) -> list[Any]:
        self.outputs, self.origins = [], []
        self.context.topic = "in"
        self.context.offset += 1
        offset = self.context.offset
        self.operator.process(key, (new, old, True), timestamp, headers)
        assert (self.context.topic, self.context.offset) == ("in", offset)
        return self.outputs


@pytest.fixture(scope="session")
def task() -> type[SuppressTask]:
    return SuppressTask
