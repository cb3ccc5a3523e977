"""How much a lane takes at once: so much that it is soon back to hear what its group has to say."""

from __future__ import annotations

#: So many records are few enough to stay in the processor's caches until they are processed.
MOST = 5_000
#: Before it is known how long functions take, and how many records are in a message.
_FIRST = 100
#: A lane that does not ask its group for minutes is taken for dead.
_SECONDS = 5.0


class Pace:
    """Learns how long records take, and how many of them are in a message (see `bundles`).

    >>> pace = Pace()
    >>> pace.came(100, 100)
    >>> pace.took(100, 0.001)
    >>> pace.most, pace.messages
    (200, 200)
    >>> pace.came(10, 1_000)
    >>> pace.messages
    2
    >>> pace.took(200, 100.0)
    >>> pace.most, pace.messages
    (10, 1)
    """

    def __init__(self) -> None:
        #: How many records a task is to process next, at most.
        self.most = _FIRST
        self._of_message = 1.0

    @property
    def messages(self) -> int:
        """How many messages to ask for next: about as many as have these records."""
        return max(1, int(self.most / self._of_message))

    def came(self, messages: int, records: int) -> None:
        """So many messages had so many records."""
        if messages and records:
            self._of_message = max(1.0, records / messages)

    def took(self, count: int, seconds: float) -> None:
        """So many records took so long."""
        if count:
            fitting = int(count * _SECONDS / max(seconds, 0.001))
            self.most = max(1, min(fitting, 2 * self.most, MOST))
