"""For layers above the DSL: operators over all of a record, and what only such layers know of their data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from millstream.dsl import prefixes
from millstream.dsl.streams.kstream import KStream
from millstream.dsl.streams.ktable import KTable
from millstream.dsl.unknown import call
from millstream.processors.context import TaskContext
from millstream.processors.stateless import MapValuesInContext
from millstream.records import Headers
from millstream.serdes import Serde


def map_records(
    stream: KStream[Any, Any], mapper: Callable[[Any, Any, int, Headers | None, TaskContext], Any]
) -> KStream[Any, Any]:
    """New values, computed from `(key, value, timestamp, headers, task context)`.

    What `process_values` does, without one object per record.
    """
    return stream._then(
        prefixes.PROCESS_VALUES,
        None,
        partial(MapValuesInContext, mapper),
        new_value=call("map_records", mapper),
        changes_value=True,
    )


def skip_name(stream: KStream[Any, Any]) -> None:
    """Use up a number in generated names, for a node that is left out: the names of others stay the same."""
    stream._place.dsl.name(prefixes.PROCESS_VALUES)


def with_value_serde(table: KTable[Any, Any], value: Serde[Any]) -> KTable[Any, Any]:
    """The same table with a known serde of its values: joins and groupings of it need not be given one."""
    return KTable(replace(table._place, value=value), queryable_store_name=table.queryable_store_name)
