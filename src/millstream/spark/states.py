"""The states of an application."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where in its life an application is."""

    CREATED = "created"
    REBALANCING = "rebalancing"
    RUNNING = "running"
    PENDING_SHUTDOWN = "pending shutdown"
    NOT_RUNNING = "not running"
    PENDING_ERROR = "pending error"
    ERROR = "error"


#: What may come after a state.
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
