"""Writing outputs so that all are written but those that Kafka refuses and the production handler leaves out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from millstream.errors import ProductionError
from millstream.handlers import Decision
from millstream.hosting.producing.refusals import Refusal, RefusedError, guilty
from millstream.task.errors.handling import as_outputs
from millstream.task.records import OutputRecord, TracedRecord

log = logging.getLogger("millstream.hosting")

#: Into how many groups records are divided to find out which of them is refused.
_GROUPS = 32


class Producing(Protocol):
    """Who writes: each method raises `RefusedError` if records were not taken."""

    @property
    def exactly_once(self) -> bool:
        """Whether a record that is refused takes all others of its transaction with it."""

    def write(self, records: Iterable[OutputRecord]) -> None:
        """Write records."""

    def flush(self) -> None:
        """Have all that was written so far delivered, in batches that what is written later is not in."""

    def start_over(self) -> None:
        """Take back what was not committed, to write it anew."""


class SureWriting:
    """Hands outputs to a producer, and asks the production handler about those that are refused.

    A record that is refused takes others with it: those of its batch, and all of its transaction. So if the handler
    goes on, the others are written again. For that they are kept until the commit, if the handler is the user's own.

    Args:
        outputs: the producer.
        told: a refusal as an error.
        asks: the handler is the user's own.
    """

    def __init__(self, outputs: Producing, told: Callable[[Refusal], ProductionError], *, asks: bool) -> None:
        #: How many records were written.
        self.count = 0
        self._outputs = outputs
        self._told = told
        self._asks = asks
        self._kept: list[OutputRecord] = []
        #: Records before which all others must be out, so that they are in different batches.
        self._apart: set[int] = set()

    def write(self, records: list[OutputRecord]) -> None:
        """Write records."""
        self.count += len(records)
        if self._asks:
            self._kept += records
        self._surely(lambda: self._outputs.write(records))

    def commit(self, action: Callable[[], None]) -> None:
        """That was all; `action` makes it count."""
        self._surely(action, again=True)

    def _surely(self, action: Callable[[], None], *, again: bool = False) -> None:
        """Do something, and what it takes that all but refused records are written.

        Args:
            action: writes or commits.
            again: whether it is to be done again after others were written.
        """
        try:
            action()
            return
        except RefusedError as error:
            refused: RefusedError | None = error
        while refused is not None:
            todo = self._after(refused)
            try:
                self._write_apart(todo)
                if again:
                    action()
                refused = None
            except RefusedError as error:
                refused = error

    def _after(self, refused: RefusedError) -> list[OutputRecord]:
        """Decide about refused records: what is to be written now."""
        refusals = refused.refusals
        if not self._asks:
            raise self._told(guilty(refusals))
        suspects = self._suspects(refused)
        letters: list[OutputRecord] = []
        skipped: set[int] = set()
        anew = bool(suspects)
        for refusal in refusals:
            if id(refusal.record) in suspects:
                continue
            if refusal.is_innocent:
                anew = True
                continue
            decision, more = self._asked(refusal)
            letters += more
            if decision is Decision.RESUME:
                skipped.add(id(refusal.record))
            else:
                anew = True
        self._kept = [record for record in self._kept if id(record) not in skipped] + letters
        self.count += len(letters) - len(skipped)
        if self._is_lost(refusals):
            self._outputs.start_over()
            return self._kept
        if not anew:
            return letters
        # Where records may come twice, those behind come again too, so that the last of each key stays the last.
        first = {id(refusal.record) for refusal in refusals}
        start = next((at for at, record in enumerate(self._kept) if id(record) in first), len(self._kept))
        return self._kept[start:]

    def _suspects(self, refused: RefusedError) -> set[int]:
        """Records of batches that were refused for one of them. When written again they are so in smaller groups."""
        batches: dict[tuple[int, str, int | None], list[Refusal]] = {}
        for number, group in enumerate(refused.groups):
            for refusal in group:
                if refusal.blames_batch:
                    batches.setdefault((number, refusal.topic, refusal.partition), []).append(refusal)
        found: set[int] = set()
        for batch in batches.values():
            if len(batch) > 1:
                found.update(id(refusal.record) for refusal in batch)
                step = -(-len(batch) // _GROUPS)
                self._apart.update(id(refusal.record) for refusal in batch[::step])
        return found

    def _asked(self, refusal: Refusal) -> tuple[Decision, list[OutputRecord]]:
        """What the handler wants, and its dead letters."""
        error = self._told(refusal)
        record = refusal.record
        if not isinstance(record, TracedRecord) or not refusal.may_be_skipped:
            raise error  # a dead letter, or a topic that takes nothing at all
        response = record.origin.errors.refused(record, error)
        retries = response.decision is Decision.RETRY and error.retriable
        if response.decision is not Decision.RESUME and not retries:
            raise error
        log.warning("%s: %s", "writing again" if retries else "skipped", error)
        return response.decision, as_outputs(response.dead_letters)

    def _write_apart(self, records: Iterable[OutputRecord]) -> None:
        """Write records, those that are to be apart in other batches than those before. Stops only if all is lost."""
        groups: list[list[OutputRecord]] = [[]]
        for record in records:
            if id(record) in self._apart:
                groups.append([])
            groups[-1].append(record)
        refused: list[list[Refusal]] = []
        for group in groups:
            try:
                self._outputs.write(group)
                if self._apart:
                    self._outputs.flush()
            except RefusedError as error:
                refused += error.groups
                if self._is_lost(error.refusals):
                    break
        if refused:
            raise RefusedError(*refused)

    def _is_lost(self, refusals: list[Refusal]) -> bool:
        """Whether what was written with them must be written again."""
        return self._outputs.exactly_once and not all(refusal.here for refusal in refusals)
