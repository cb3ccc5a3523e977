"""Agents: functions over streams, with tables as dictionaries, timers and pages, the way Faust has them.

`import millstream.agents as faust` is how an application written for Faust begins here.
"""

from __future__ import annotations

from millstream.agents.agent import Agent
from millstream.agents.app import App
from millstream.agents.body.events import Event, current_event
from millstream.agents.body.stream import Stream
from millstream.agents.records import Record
from millstream.agents.tables import Table, WindowedTable
from millstream.agents.topics import Topic

__all__ = ["Agent", "App", "Event", "Record", "Stream", "Table", "Topic", "WindowedTable", "current_event"]
