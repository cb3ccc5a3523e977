"""The life of an application: its states, and what decides about its end."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from millstream.errors import MillstreamError


class State(Enum):
    """Where in its life an application is."""

    CREATED = "created"
    REBALANCING = "rebalancing"
    RUNNING = "running"
    PENDING_SHUTDOWN = "pending shutdown"
    NOT_RUNNING = "not running"
    PENDING_ERROR = "pending error"
    ERROR = "error"


#: What a state may be followed by.
AFTER = {
    State.CREATED: {State.REBALANCING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.REBALANCING: {State.RUNNING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.RUNNING: {State.REBALANCING, State.PENDING_SHUTDOWN, State.PENDING_ERROR},
    State.PENDING_SHUTDOWN: {State.NOT_RUNNING},
    State.PENDING_ERROR: {State.ERROR, State.REBALANCING},
    State.ERROR: {State.PENDING_SHUTDOWN},
    State.NOT_RUNNING: set(),
}


#: States in which stores cannot be asked.
NOT_ASKED = {State.CREATED, State.PENDING_SHUTDOWN, State.NOT_RUNNING, State.PENDING_ERROR, State.ERROR}


class UncaughtAction(Enum):
    """What an uncaught-exception handler decides."""

    #: Start the query again where the last good batch ended.
    REPLACE_THREAD = "replace thread"
    SHUTDOWN_CLIENT = "shutdown client"


StateListener = Callable[[State, State], object]
UncaughtExceptionHandler = Callable[[MillstreamError], UncaughtAction]
