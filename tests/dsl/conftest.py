"""A builder, and a way to run what it builds: records of text go in, what comes out is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from millstream import Consumed, KStream, Serdes, StreamsBuilder, StreamsConfig
from millstream.testing import TopologyTestDriver

#: `run(records)` pipes `(topic, key, value)` or `(topic, key, value, timestamp)` tuples and gives the pairs of "out".
Run = Callable[..., list[tuple[Any, Any]]]


@pytest.fixture
def builder() -> StreamsBuilder:
    return StreamsBuilder()


@pytest.fixture
def texts(builder: StreamsBuilder) -> KStream[str, str]:
    """The stream of topic "in"."""
    return builder.stream("in", Consumed(Serdes.string, Serdes.string))


@pytest.fixture
def run(builder: StreamsBuilder) -> Run:
    def run(
        records: Iterable[tuple[Any, ...]],
        *,
        key: Any = Serdes.string,
        value: Any = Serdes.string,
        input_value: Any = Serdes.string,
        config: StreamsConfig | None = None,
    ) -> list[tuple[Any, Any]]:
        with TopologyTestDriver(builder.build(config), config) as driver:
            for number, (topic, record_key, record_value, *timestamp) in enumerate(records):
                at = timestamp[0] if timestamp else number
                driver.input_topic(topic, Serdes.string, input_value).pipe(record_key, record_value, timestamp=at)
            return driver.output_topic("out", key, value).read_key_values()

    return run
