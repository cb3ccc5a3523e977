"""Tasks: part of a topology at work, in whatever hosts it. Knows neither Spark nor Kafka."""

from __future__ import annotations

from millstream.task.context import host_context
from millstream.task.globals import GlobalState
from millstream.task.metrics import TaskMetrics
from millstream.task.records import OutputRecord, RawHeaders, RawRecord
from millstream.task.task import Task

__all__ = ["GlobalState", "OutputRecord", "RawHeaders", "RawRecord", "Task", "TaskMetrics", "host_context"]
