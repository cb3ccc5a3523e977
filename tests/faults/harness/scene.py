"""All that a fault can strike, and what is known about it."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream.kafka.broker import DevBroker

from .copies import Copy
from .feed import Feed
from .hanging import Hanging, hanging
from .processes import unmount_below
from .results import Results
from .sides import Settings, Side
from .topics import Topics

#: Generous: other things may run on the machine.
PATIENCE_SECONDS = 600.0
_POLL_SECONDS = 0.05
_DISK_MB = 64
_ASK_SECONDS = 5.0
_HANGS = "a transaction does not end"


class Impatience(Exception):
    """What was waited for did not come."""


class KafkaHangs(Exception):
    """What was waited for cannot come: Kafka has lost the end of a transaction, and the application has said so."""


def wait_until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition.

    Raises:
        Impatience: it does not come true in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Impatience(f"{what}: not within {seconds:.0f} s")
        time.sleep(_POLL_SECONDS)


@dataclass
class Scene:
    """A run while it goes on."""

    side: Side
    broker: DevBroker
    owner: str
    directory: Path
    settings: Settings
    topics: Topics
    feed: Feed
    results: Results
    #: The copy that is meant to work. Faults strike it.
    copy: Copy = field(init=False)
    copies: list[Copy] = field(default_factory=list)
    #: What should not have happened, apart from wrong results.
    complaints: list[str] = field(default_factory=list)
    #: Visits that were counted before their topic was deleted.
    visits_before: Mapping[str, int] = field(default_factory=dict)
    #: Whether the application may say that it does not go on.
    may_refuse: bool = False
    _asked: float = 0.0

    def __post_init__(self) -> None:
        self.copy = self.another_copy()

    @property
    def restarts(self) -> int:
        """How often supervisors had to start something again."""
        return sum(copy.restarts for copy in self.copies)

    @property
    def copies_wait(self) -> bool:
        """Whether a second copy waits until the first is gone, instead of sharing the work."""
        return self.side.waits(self.settings.mode)

    @property
    def tells_of_hanging(self) -> bool:
        """Whether the application has said that a transaction does not end."""
        return any(copy.log.exists() and _HANGS in copy.log.read_text(errors="replace") for copy in self.copies)

    def hanging(self) -> list[Hanging]:
        """Transactions in the topics of the run whose end Kafka has lost."""
        return hanging(self.broker, self.settings.application)

    def check_kafka(self) -> None:
        """Now and then: see whether it is Kafka that is waited for, as the application says.

        Raises:
            KafkaHangs: it is.
        """
        if time.monotonic() > self._asked + _ASK_SECONDS:
            self._asked = time.monotonic()
            if self.tells_of_hanging and (found := self.hanging()):
                raise KafkaHangs(", ".join(map(str, found)))

    @property
    def tokens(self) -> Path:
        """Where functions look for reasons to raise."""
        return Path(self.settings.tokens)

    @property
    def spent(self) -> Path:
        """Where functions leave what made them raise."""
        return self.tokens.with_name(f"{self.tokens.name}-spent")

    @property
    def disk(self) -> Path:
        """Where checkpoints are."""
        return self.directory / "disk"

    def another_copy(self, *, checkpoint: str | None = None) -> Copy:
        """A copy of the application, as on another machine; it is not started yet."""
        number = len(self.copies) + 1
        settings = dataclasses.replace(
            self.settings,
            checkpoint=checkpoint or self.settings.checkpoint,
            state=str(self.directory / f"state-{number}"),
        )
        command = self.side.command(settings)
        copy = Copy(
            f"copy-{number}", self.owner, command, self.settings.mode, self.directory, lambda: self.results.total
        )
        self.copies.append(copy)
        return copy

    def mount_disk(self) -> None:
        """Have checkpoints on a small disk of their own, which can be full; only root can do this."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", str(self.disk)]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - paths of ours

    def end(self) -> None:
        """Leave nothing running."""
        for copy in self.copies:
            copy.kill()
        self.results.close(to_end=False)

    def remove(self) -> None:
        """Leave no files."""
        unmount_below(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
