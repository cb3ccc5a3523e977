"""Millstream SQL against ksqlDB's own functional tests: every file of the corpus is a test.

The corpus is kept outside of the repository, below `MILLSTREAM_CONFORMANCE_DIR`.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.sql.conformance.case import load_file
from millstream.sql.conformance.check import Status, check

HERE = Path(__file__).parent
DIRECTORY = Path(os.environ.get("MILLSTREAM_CONFORMANCE_DIR") or HERE.parents[3] / "shared" / "conformance") / "ksql"
FILES = sorted(DIRECTORY.glob("*/*.json"))
#: Cases that fail, with the reason. One that does not fail any more must leave the list.
GAPS: dict[str, str] = tomllib.loads((HERE / "known_gaps.toml").read_text(encoding="utf-8"))["ksql"]

needs_the_corpus = pytest.mark.skipif(not FILES, reason=f"no cases below {DIRECTORY} (set MILLSTREAM_CONFORMANCE_DIR)")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Cases fail on purpose, and say so in logs."""
    log = logging.getLogger("millstream")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(level)


@needs_the_corpus
@pytest.mark.parametrize("file", FILES, ids=[f"{file.parent.name}/{file.stem}" for file in FILES])
def test_file(file: Path) -> None:
    wrong = []
    for case in load_file(file):
        verdict = check(case)
        if verdict.status is Status.FAILED and case.id not in GAPS:
            wrong.append(f"{case.id}: {verdict.reason}")
        if verdict.status is Status.PASSED and case.id in GAPS:
            wrong.append(f"{case.id} passes: take it from known_gaps.toml")
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@needs_the_corpus
def test_known_gaps_are_cases() -> None:
    assert set(GAPS) <= {case.id for file in FILES for case in load_file(file)}
