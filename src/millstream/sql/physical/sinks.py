"""Where records leave."""

from __future__ import annotations

from millstream.dsl.options import Produced
from millstream.sql.physical.flow import AnyStream, Flow, Surroundings, name_of
from millstream.sql.physical.timestamps import sink_timestamps
from millstream.sql.plan.steps import StreamSink, TableSink


def stream_sink(step: StreamSink, source: Flow, around: Surroundings) -> None:
    """Write a stream."""
    _write(step, source, source.stream, around)


def table_sink(step: TableSink, source: Flow, around: Surroundings) -> None:
    """Write the updates of a table."""
    _write(step, source, source.table.to_stream(), around)


def _write(step: StreamSink | TableSink, source: Flow, stream: AnyStream, around: Surroundings) -> None:
    if step.timestamp is not None:
        name = f"ApplyTimestampTransform-{name_of(step)}"
        stream = stream.process(sink_timestamps(step.timestamp, step.schema, around, step), name=name)
    key = around.key_serde(step.formats.key, step.schema, source.window, step.topic)
    stream.to(step.topic, Produced(key, around.value_serde(step.formats.value, step.schema.value, step.topic)))
