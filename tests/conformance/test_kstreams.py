"""Millstream against real Kafka Streams: every conformance case is a test.

The full suite is kept outside of the repository (`MILLSTREAM_CONFORMANCE_DIR`); a selection of it lies in `cases/`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from millstream.testing.conformance.case import Case, load_cases
from millstream.testing.conformance.check import check

HERE = Path(__file__).parent
DIRECTORY = Path(os.environ.get("MILLSTREAM_CONFORMANCE_DIR") or HERE.parents[2] / "shared" / "conformance")
FULL_SUITE = DIRECTORY / "kstreams"
SELECTION = HERE / "cases"


def _cases() -> dict[str, Case]:
    """Every case once: the full suite where it is, and what only the selection has."""
    cases: dict[str, Case] = {}
    for directory in (FULL_SUITE, SELECTION):
        for file in sorted(directory.glob("*.json")):
            for case in load_cases(file):
                cases.setdefault(case.id, case)
    return cases


CASES = _cases()
GAPS: dict[str, str] = tomllib.loads((HERE / "known_gaps.toml").read_text(encoding="utf-8"))["kstreams"]

needs_the_full_suite = pytest.mark.skipif(
    not any(FULL_SUITE.glob("*.json")),
    reason=f"no cases in {FULL_SUITE}: only the repository's selection runs (set MILLSTREAM_CONFORMANCE_DIR)",
)


def _parameter(case: Case) -> Any:
    marks = [pytest.mark.xfail(strict=True, reason=GAPS[case.id])] if case.id in GAPS else []
    return pytest.param(case, id=case.id, marks=marks)


@pytest.mark.parametrize("case", [_parameter(case) for case in CASES.values()])
def test_case(case: Case) -> None:
    verdict = check(case)
    if not verdict.passed:
        pytest.fail("\n".join(verdict.reasons), pytrace=False)


@needs_the_full_suite
def test_the_selection_is_part_of_the_full_suite() -> None:
    full = {case.id for file in FULL_SUITE.glob("*.json") for case in load_cases(file)}
    selected = {case.id for file in SELECTION.glob("*.json") for case in load_cases(file)}
    assert selected <= full


@needs_the_full_suite
def test_known_gaps_are_cases() -> None:
    assert set(GAPS) <= set(CASES)
