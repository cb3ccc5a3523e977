"""The life of an application: its states, and what decides about its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum

from millstream.errors import MillstreamError

#: How long a wait lasts at most before signals are heeded.
_HEED_SECONDS = 0.5


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


class Life:
    """One application's: its state, who hears of it, and what is decided about errors. For any thread."""

    def __init__(self) -> None:
        self._state = State.CREATED
        self._changed = threading.Condition(threading.RLock())
        self.listeners: list[StateListener] = []
        #: Decides about errors that end the application.
        self.handler: UncaughtExceptionHandler = lambda error: UncaughtAction.SHUTDOWN_CLIENT
        #: Why it ended, or is about to.
        self.failure: MillstreamError | None = None
        #: Somebody wants it to end.
        self.is_closing = False

    @property
    def state(self) -> State:
        """Where it is."""
        return self._state

    @property
    def lock(self) -> threading.Condition:
        """Held while several things must be true together."""
        return self._changed

    @property
    def is_ending(self) -> bool:
        """Whether it ends as it should."""
        return self._state in (State.PENDING_SHUTDOWN, State.NOT_RUNNING)

    def move(self, new: State) -> None:
        """Go on to a state, if that can follow."""
        with self._changed:
            old = self._state
            if new is old or new not in AFTER[old]:
                return
            self._state = new
            self._changed.notify_all()
        for listener in self.listeners:
            listener(new, old)

    def wait(self, seconds: float | None) -> bool:
        """Until it has ended; False if the time is over before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while self._state not in (State.NOT_RUNNING, State.ERROR):
                left = _HEED_SECONDS if deadline is None else min(_HEED_SECONDS, deadline - time.monotonic())
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def goes_on_after(self, error: MillstreamError) -> bool:
        """Whether it is to go on after an error: asks who decides about that."""
        self.move(State.PENDING_ERROR)
        if self.handler(error) is UncaughtAction.REPLACE_THREAD and not self.is_closing:
            self.move(State.REBALANCING)
            return True
        self.failure = error
        return False
