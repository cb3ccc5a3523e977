"""A broker for the faults of a test process, which may be struck itself, and somebody who ends what is left."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from millstream.kafka.broker import DevBroker

from .harness import processes
from .harness.outcome import Outcome
from .harness.run import carry_out
from .harness.schedule import Schedule
from .harness.sides import Millstream

CarryOut = Callable[[Schedule], Outcome]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CarryOut]:
    """`run(schedule)` carries a schedule out and answers what came of it."""
    owner, base = uuid.uuid4().hex, tmp_path_factory.mktemp("faults")
    guard = processes.start_guard(owner, base)
    try:
        with DevBroker(base / "broker") as broker:
            yield lambda schedule: carry_out(schedule, Millstream(), broker, owner, base)
    finally:
        processes.kill_all(owner)
        processes.unmount_below(base)
        guard.kill()
        if guard.stdin is not None:
            guard.stdin.close()
        guard.wait()
