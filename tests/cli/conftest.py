"""The command, called as from a shell but in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`run("topics", "list")` returns the exit code, the output and the error output."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(arguments)
        output, errors = capsys.readouterr()
        return int(left.value.code or 0), output, errors

    return call
