"""How far a copy has applied a changelog partition, and how fresh that is."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.views.answers import PartitionLag


@dataclass(slots=True)
class Progress:
    """A copy's place in one changelog partition. Moments are those of `time.monotonic`.

    Args:
        position: the offset of the next record.
        end: the end of the partition when it was last looked up.
        looked_at: when that was.
        current_at: the latest moment of which all records are applied; None: the copy has not read up yet.
    """

    position: int = 0
    end: int = 0
    looked_at: float | None = None
    current_at: float | None = None

    def advance(self, position: int) -> None:
        """Records before this position are applied."""
        if position > self.position:
            self.position = position
        if self.looked_at is not None and self.position >= self.end:
            self.current_at = self.looked_at

    def look(self, end: int, now: float) -> None:
        """The end was looked up; `now` is a moment before that."""
        self.end, self.looked_at = end, now
        if self.position >= end:
            self.current_at = now

    @property
    def has_read_up(self) -> bool:
        """Whether the copy has been at the end once, so that it can be asked."""
        return self.current_at is not None

    def lag(self, now: float) -> PartitionLag:
        """How far it is behind."""
        stale = None if self.current_at is None else max(0, round((now - self.current_at) * 1000))
        return PartitionLag(self.position, max(self.end, self.position), stale)
