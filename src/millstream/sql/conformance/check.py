"""Runs a case of any suite, and says how it went."""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable
from dataclasses import dataclass

from millstream.sql.conformance.case import Case


class Status(enum.Enum):
    """How a case went."""

    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True)
class Verdict:
    """How a case went, and why."""

    case: Case
    status: Status
    reason: str = ""


def check(case: Case) -> Verdict:
    """Run a case. Nothing that it does is raised."""
    try:
        _runner(case.suite)(case)
    except Exception as error:  # whatever it is, the case failed
        name = type(error).__name__
        text = " | ".join(str(error).split("\n"))
        return Verdict(case, Status.FAILED, text if name == "NotExpected" else f"{name}: {text}")
    return Verdict(case, Status.PASSED)


def _runner(suite: str) -> Callable[[Case], None]:
    # Imported here so that a part of the engine that cannot be imported fails cases, not the command.
    module = importlib.import_module(f"millstream.sql.conformance.{suite}")
    runner: Callable[[Case], None] = getattr(module, f"run_{suite}")
    return runner
