"""PRINT: the records of a topic as lines of text, as they come."""

from __future__ import annotations

from math import inf

from millstream.errors import MillstreamError
from millstream.hosting.transient.reader import Batch, Reader
from millstream.ksqldb.queries.audience import Audience
from millstream.sql.engine.answers.printing import FormatGuess, printed
from millstream.sql.tree.statements import PrintTopic


class Printing:
    """Makes lines of records. See `Work`.

    Before the first record it says which formats they seem to have, and again when later ones show that it was wrong.

    Args:
        statement: what to print.
        audience: gets the lines.
    """

    def __init__(self, statement: PrintTopic, audience: Audience) -> None:
        self._interval = max(1, statement.interval or 1)
        self._left = statement.limit
        self._audience = audience
        self._count = 0
        self._guesses = {"Key": FormatGuess(), "Value": FormatGuess()}
        self._told: dict[str, str] = {}

    def patience(self) -> float:
        return inf

    def process(self, reader: Reader, batch: Batch) -> bool:
        for (_, partition), records in batch.items():
            for key, value, timestamp, _, _ in records:
                self._count += 1
                if (self._count - 1) % self._interval == 0:
                    self._print(key, value, timestamp, partition)
                    if self._left == 0:
                        self._audience.deliver()
                        return False
        return self._audience.deliver()

    def ended(self, error: MillstreamError | None) -> None:
        self._audience.ended(error)

    def _print(self, key: bytes | None, value: bytes | None, timestamp: int, partition: int) -> None:
        for part, data in (("Key", key), ("Value", value)):
            self._guesses[part].add(data)
            guess = str(self._guesses[part])
            if self._told.get(part) != guess:
                self._told[part] = guess
                self._line(f"{part} format: {guess}")
        self._line(printed(key, value, timestamp, partition).line)
        if self._left is not None:
            self._left -= 1

    def _line(self, text: str) -> None:
        self._audience.take((text,), False)
