"""Whatever a statement looks like: there is a result, or an error that says what is wrong with the statement."""

from __future__ import annotations

import pytest

from .fuzzing import engine, fuzz, parser
from .mutations import mutations
from .statements import SEEDS


@pytest.mark.parametrize("statement", SEEDS)
def test_mutations_begin_with_statements(statement: str) -> None:
    parser()(statement)


def test_mutated_statements_are_parsed_or_refused() -> None:
    report = fuzz(parser(), mutations(seed=5, count=1_000))

    assert report.wrong == []
    assert report.done > 100
    assert report.refused > 300


def test_mutated_statements_are_executed_or_refused() -> None:
    report = fuzz(engine(), mutations(seed=6, count=500))

    assert report.wrong == []
    assert report.done > 25
    assert report.refused > 150
