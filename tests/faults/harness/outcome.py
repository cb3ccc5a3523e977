"""What a run came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .results import Recovery
from .schedule import Schedule
from .verdict import Found, Verdict


@dataclass(frozen=True)
class Struck:
    """A fault that struck, and how long it took to recover from it, if that could be measured."""

    name: str
    recovery: Recovery | None


@dataclass
class Outcome:
    """What a run came to."""

    schedule: Schedule
    verdict: Verdict = Verdict.OK
    found: Found | None = None
    struck: list[Struck] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    may_refuse: bool = False
    #: Transactions whose end Kafka has lost, if there are any.
    hanging: str = ""
    restarts: int = 0
    records: int = 0
    seconds: float = 0.0
    #: Where its files are, if they were kept.
    directory: Path | None = None

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong."""
        right = self.verdict in (Verdict.OK, Verdict.HANGING) or (self.verdict is Verdict.REFUSED and self.may_refuse)
        return right and not self.complaints

    def __str__(self) -> str:
        schedule = self.schedule
        how = [
            schedule.mode,
            schedule.master,
            schedule.stores,
            *["caching"] * schedule.caching,
            *["replace"] * schedule.replace,
            *["standbys"] * schedule.standbys,
        ]
        struck = ", ".join(f"{one.name} {_seconds(one.recovery)}" for one in self.struck)
        said = str(self.found) if self.verdict in _COUNTED and self.found is not None else self.verdict.value
        line = f"seed {schedule.seed}: {said} | {struck} | {self.restarts} restarts, {self.records:,} records, "
        line += f"{' '.join(how)}, {self.seconds:.0f} s"
        for complaint in (*self.complaints, *(self.found.examples if self.found else ())):
            line += f"\n    {complaint}"
        if self.hanging:
            line += f"\n    Kafka has lost the end of transactions, and the application says so: {self.hanging}"
        if self.directory is not None:
            line += f"\n    see {self.directory}"
        return line


_COUNTED = (Verdict.OK, Verdict.LOST, Verdict.DOUBLED, Verdict.DISORDERED)


def _seconds(recovery: Recovery | None) -> str:
    if recovery is None:
        return "(not measured)"
    both = ("never" if value is None else f"{value:.1f}" for value in (recovery.first, recovery.everywhere))
    return f"{'/'.join(both)} s"
