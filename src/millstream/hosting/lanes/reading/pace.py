"""How many records a lane takes at once: so many that it is soon back to hear what its group has to say."""

from __future__ import annotations

#: Few enough to stay in the processor's caches until they are processed.
_MOST = 5_000
#: Before it is known how long functions take.
_FIRST = 100
#: A lane that does not ask its group for minutes is taken for dead.
_SECONDS = 5.0


class Pace:
    """Learns how long records take.

    >>> pace = Pace()
    >>> pace.took(100, 0.001)
    >>> pace.most
    200
    >>> pace.took(200, 100.0)
    >>> pace.most
    10
    """

    def __init__(self) -> None:
        #: How many records to take next.
        self.most = _FIRST

    def took(self, count: int, seconds: float) -> None:
        """So many records took so long."""
        if count:
            fitting = int(count * _SECONDS / max(seconds, 0.001))
            self.most = max(1, min(fitting, 2 * self.most, _MOST))
