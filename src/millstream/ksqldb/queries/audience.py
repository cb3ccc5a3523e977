"""The rows of one running query on their way to all who look at it."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from millstream.errors import MillstreamError
from millstream.ksqldb.api import End, Row, ServiceError
from millstream.ksqldb.queries.answers import MOST_WAITING, LiveAnswer

#: How long a query waits for its only client to take rows.
_PATIENCE_SECONDS = 60.0


class Audience:
    """The answers that get the rows of one query.

    A client that takes its rows more slowly than they come stops nobody else: where others listen too, its answer
    ends. Where it is alone, the query waits for it, so that long answers reach slow clients.

    Args:
        first: the answer that the query runs for; others may join.
    """

    def __init__(self, first: LiveAnswer) -> None:
        self._changed = threading.Condition()
        self._answers = [first]
        self._rows: list[Row] = []
        self._follow(first)

    # --- any thread

    def join(self, answer: LiveAnswer) -> bool:
        """Give an answer all rows from now on; False if the query has ended, or is about to."""
        with self._changed:
            if not self._answers:
                return False
            self._answers.append(answer)
            self._changed.notify_all()
        self._follow(answer)
        return True

    @property
    def is_there(self) -> bool:
        """Whether anybody listens."""
        return bool(self._answers)

    def _follow(self, answer: LiveAnswer) -> None:
        answer.when_room(self._look_again)
        answer.when_over(partial(self._leave, answer))

    def _leave(self, answer: LiveAnswer) -> None:
        with self._changed:
            if answer in self._answers:
                self._answers.remove(answer)
            self._changed.notify_all()

    def _look_again(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # --- the thread of the query

    def take(self, values: tuple[Any, ...], is_tombstone: bool) -> None:
        """A row that came of what is processed now."""
        self._rows.append(Row(values, is_tombstone))

    def deliver(self) -> bool:
        """Hand out the rows that came; False if nobody listens any more."""
        rows, self._rows = self._rows, []
        if rows:
            with self._changed:
                answers = list(self._answers)
            for answer in answers:
                answer.offer(rows)
            self._relieve()
        return self.is_there

    def ended(self, error: MillstreamError | None) -> None:
        """No more rows will come."""
        with self._changed:
            answers, self._answers = self._answers, []
        for answer in answers:
            if error is None:
                answer.complete()
            else:
                answer.finish(End(error=error))

    def _relieve(self) -> None:
        """Wait for a client that is alone, and then end the answers that are full."""
        with self._changed:
            if len(self._answers) == 1 and self._answers[0].is_full:
                only = self._answers[0]
                self._changed.wait_for(lambda: self._answers != [only] or not only.is_full, _PATIENCE_SECONDS)
            full = [answer for answer in self._answers if answer.is_full]
        for answer in full:
            answer.finish(End(error=_too_slow()))


def _too_slow() -> ServiceError:
    return ServiceError(
        50000,
        "the client takes its rows too slowly",
        detail=f"{MOST_WAITING} rows wait for it",
        hint="read faster, or ask for less: a WHERE, fewer columns",
    )
