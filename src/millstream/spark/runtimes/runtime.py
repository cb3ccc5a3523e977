"""What a way to run an application has to be able to do."""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import SparkSession

from millstream.spark.numbers import Numbers
from millstream.task.watching.watch import Seen


class Runtime(Protocol):
    """Runs one application, from `begin` to `end`."""

    @property
    def statistics(self) -> Numbers:
        """What was counted so far."""

    def prepare(self) -> None:
        """Begin with what needs no Spark, while Spark starts."""

    def begin(self, session: SparkSession, *, once: bool) -> None:
        """Begin to process, or to stand by; `once` is until what is there now is processed.

        Raises:
            MillstreamError: that is not possible.
        """

    def follow(self) -> bool:
        """See to it that processing goes on; returns when it does not, and whether it has ended by itself.

        Why it failed is in `Life.failure`, if that was told already.

        Raises:
            MillstreamError: it failed.
        """

    def finish(self, seconds: float) -> bool:
        """Have what is under way end, and nothing new begin; whether that was done in time."""

    def end(self) -> None:
        """Give everything back. Safe to call again."""

    def pause(self) -> None:
        """Take no new records."""

    def resume(self) -> None:
        """Go on after a pause."""

    @property
    def is_paused(self) -> bool:
        """Whether it is paused."""

    def look(self) -> list[Seen]:
        """What was seen of the topology's nodes lately; lanes look for some seconds from now on."""

    def lanes(self) -> dict[int, list[str]]:
        """The names of the tasks in each lane."""
