"""The commands of a pattern's README, carried out as they stand there, in this process."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest

from millstream.cli import main
from pages import FENCE

from .world import Pattern, Sent, decoded

#: What only a person does: these run until they are stopped, and tests run them themselves.
_RUNS = ("millstream run ", "python -m examples.patterns.transactional_outbox.relay ")


@dataclass(frozen=True)
class Readme:
    """What a README says.

    Args:
        before: commands that make topics and write to them before the application is started, in their order.
        meanwhile: those that are given one after the other while it runs.
        sent: what they write.
        claims: commands, and what they are said to print.
    """

    before: list[list[str]]
    meanwhile: list[list[str]]
    sent: list[Sent]
    claims: list[tuple[list[list[str]], list[str]]]

    @property
    def commands(self) -> list[list[str]]:
        """All that make topics and write to them."""
        return [*self.before, *self.meanwhile]


def read(pattern: Pattern) -> Readme:
    """Read a pattern's README."""
    page = (pattern.folder / "README.md").read_text(encoding="utf-8")
    fences = list(FENCE.finditer(page))
    claims = [
        (_commands(fence["body"]), following["body"].splitlines())
        for fence, following in pairwise(fences)
        if (fence["language"], following["language"]) == ("sh", "text")
    ]
    claimed = [body for bodies, _ in claims for body in bodies]
    scripts = "".join(fence["body"] + "\n" for fence in fences if fence["language"] == "sh")
    start = scripts.find(_RUNS[0])
    before, meanwhile = (
        [command for command in _commands(script) if command not in claimed]
        for script in (scripts[:start], scripts[start:])
    )
    return Readme(before, meanwhile, list(_sent([*before, *meanwhile])), claims)


def run(command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Carry out a command; answers the lines it prints."""
    capsys.readouterr()
    if command[0] == "millstream":
        with pytest.raises(SystemExit) as left:
            main(command[1:])
        output, errors = capsys.readouterr()
        assert not left.value.code, errors
    else:
        assert command[:2] == ["python", "-m"]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", command[2:])
            importlib.import_module(command[2]).main()
        output = capsys.readouterr().out
    return output.splitlines()


def check_claims(page: Readme, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands print, among other things, every line that they are said to print; `...` stands for anything."""
    for commands, lines in page.claims:
        printed = [line for command in commands for line in run(command, monkeypatch, capsys)]
        for line in lines:
            wanted = re.compile(".*".join(map(re.escape, line.split("..."))))
            assert any(map(wanted.fullmatch, printed)), f"{line} is not in {printed}"


def _commands(body: str) -> list[list[str]]:
    return [shlex.split(line) for line in body.splitlines() if line and not line.startswith(_RUNS)]


def _sent(commands: list[list[str]]) -> Iterator[Sent]:
    for command in commands:
        if command[:3] == ["millstream", "topics", "produce"]:
            for record in command[4:]:
                key, value = re.split(":", record, maxsplit=1)
                yield Sent(command[3], key, _as_sent(value))


def _as_sent(value: str) -> object:
    """As inputs of the tests have them: JSON as objects, all else as bytes."""
    found = decoded(value.encode())
    return found if not isinstance(found, str) else value.encode()
