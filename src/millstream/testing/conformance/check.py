"""Runs one case and judges it."""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass

from millstream.testing.conformance.actual import Actual
from millstream.testing.conformance.case import Case
from millstream.testing.conformance.compare import differences
from millstream.testing.conformance.run import run


@dataclass(frozen=True)
class Verdict:
    """The outcome of a case."""

    case: Case
    reasons: list[str]
    actual: Actual | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.reasons

    def details(self) -> str:
        """Everything that was expected and everything that came, for reading."""
        lines = ["topology:", *(f"  {json.dumps(op)}" for op in self.case.topology)]
        lines += ["expected:", *_shown(self.case.expected)]
        if self.actual is not None:
            fields = {name: value for name, value in vars(self.actual).items() if name != "failure"}
            lines += ["actual:", *_shown(fields)]
            if self.actual.failure is not None:
                lines += traceback.format_exception(self.actual.failure.error)
        return "\n".join(lines)


def check(case: Case) -> Verdict:
    """Run a case and compare. Nothing a case does gets out of here but its verdict."""
    try:
        actual = run(case)
        return Verdict(case, differences(case, actual), actual)
    except Exception as error:  # one case's crash must not end the run
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Verdict(case, [f"crash: {type(error).__name__}: {error} at {where.filename}:{where.lineno}"])


def _shown(fields: dict[str, object]) -> list[str]:
    lines = []
    for name, value in fields.items():
        if name == "describe" and isinstance(value, str):
            lines += [f"  {name}:", *(f"    {line}" for line in value.splitlines())]
        elif name == "outputs" and isinstance(value, list):
            lines += [f"  {name}:"]
            lines += [f"    step {number}: {json.dumps(step, default=repr)}" for number, step in enumerate(value)]
        else:
            lines.append(f"  {name}: {json.dumps(value, default=repr)}")
    return lines
