"""Clients that look at the same: which queries can be run once for several of them."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.ksqldb.queries.audience import Audience
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements.selection import TopicReading
from millstream.sql.plan.steps import (
    Step,
    StreamFilter,
    StreamFlatMap,
    StreamSelect,
    StreamSource,
    TableFilter,
    TableSelect,
    TableSource,
)


@dataclass(frozen=True)
class SharedQuery:
    """A query that runs, and that others may join.

    Attributes:
        key: what is equal for queries that give the same rows.
    """

    key: object
    audience: Audience


def sharing_key(context: Context, reading: TopicReading, text: str) -> object | None:
    """What is equal for queries that give the same rows from now on; None if they depend on when they began."""
    plan = reading.prepared.planned.plan
    if not _is_row_by_row(plan.step):
        return None
    return text, context.settings, [context.catalogue.get(name) for name in plan.sources]


def _is_row_by_row(step: Step) -> bool:
    """Whether rows come of single records: counts and joins would have those in them that others saw before."""
    while isinstance(step, StreamFilter | TableFilter | StreamSelect | TableSelect | StreamFlatMap):
        step = step.source
    return isinstance(step, StreamSource | TableSource)
