"""`millstream sql` finds functions where people put them. Statements on Spark are tested in tests/spark/test_sql.py."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

import millstream.sql.engine.api as api
from millstream.sql.engine.answers.entities import Entity

Run = Callable[..., tuple[int, str, str]]

_FUNCTIONS = """
from millstream import udf

@udf
def twice(value: int) -> int:
    return 2 * value
"""


class Engine:
    """Stands for a `Ksql` that has nothing to do."""

    functions: ClassVar[list[Any]] = []
    queries = ()

    def __init__(self, config: Any, settings: Any, functions: Any) -> None:
        type(self).functions = functions

    def run(self, text: str) -> Iterator[Entity]:
        return iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "Ksql", Engine)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "script.sql").write_text("SHOW TOPICS;")
    (tmp_path / "my_sql_functions.py").write_text(_FUNCTIONS)
    monkeypatch.delitem(sys.modules, "my_sql_functions", raising=False)


@pytest.mark.parametrize("place", ["my_sql_functions", "./my_sql_functions.py", "my_sql_functions.py"])
def test_functions_are_found(run: Run, place: str) -> None:
    code, _, errors = run("sql", "script.sql", "-b", "host:1", "--functions", place)
    assert (code, errors) == (0, "")
    assert [module.__name__ for module in Engine.functions] == ["my_sql_functions"]


def test_functions_are_not_found(run: Run, tmp_path: Path) -> None:
    code, _, errors = run("sql", "script.sql", "-b", "host:1", "--functions", "no_such_functions")
    assert code == 1
    assert errors.startswith(f"error: there is no module no_such_functions\n  detail: looked for in {tmp_path}")
    code, _, errors = run("sql", "script.sql", "-b", "host:1", "-f", "./nothing.py")
    assert errors.startswith(f"error: there is no file {tmp_path / 'nothing.py'}")
    (tmp_path / "broken_functions.py").write_text("import no_such_library\n")
    code, _, errors = run("sql", "script.sql", "-b", "host:1", "-f", "broken_functions.py")
    assert "broken_functions.py cannot be loaded\n  detail: ModuleNotFoundError" in errors
