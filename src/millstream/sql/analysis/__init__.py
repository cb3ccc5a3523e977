"""From the syntax tree of a query to the steps that answer it."""

from millstream.sql.analysis.planner import plan_query
from millstream.sql.analysis.query.prepare import prepare_query
from millstream.sql.analysis.request import PartitionCount, PlannedQuery, SinkRequest
from millstream.sql.analysis.timestamps import check_timestamp_column

__all__ = [
    "PartitionCount",
    "PlannedQuery",
    "SinkRequest",
    "check_timestamp_column",
    "plan_query",
    "prepare_query",
]
