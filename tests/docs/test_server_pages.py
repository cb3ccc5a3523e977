"""What docs/server.md, docs/from-ksqldb.md and docs/connect.md name is there: options, commands, properties, files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from millstream.cli.main import app
from millstream.sql.settings import definition_of

ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("server.md", "from-ksqldb.md", "connect.md")
}
#: Of ksqlDB alone, or of a project of migrations.
ELSEWHERE = {"ksql.queries.file", "ksql.server.url", "ksql.heartbeat.enable", "ksql.query.push.v2."}


def commands(command: Any, name: str = "millstream") -> dict[str, Any]:
    """A command and those below it, by how they are called."""
    found = {name: command}
    for part, below in getattr(command, "commands", {}).items():
        found |= commands(below, f"{name} {part}")
    return found


COMMANDS = commands(typer.main.get_command(app))


def options(name: str) -> set[str]:
    parameters = COMMANDS[name].params
    return {option for parameter in parameters for option in parameter.opts if option.startswith("--")}


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options(page: str) -> None:
    text = PAGES[page].replace("\\\n", " ")
    called = re.findall(r"^(?:    )?(millstream [^#\n]*)", text, re.MULTILINE)
    called += re.findall(r"`(millstream [^`\n]*)`", text)
    assert len(called) > 5
    for line in called:
        name = max((name for name in COMMANDS if line == name or line.startswith(f"{name} ")), key=len)
        assert name != "millstream", line
        assert not hasattr(COMMANDS[name], "commands") or line == name, line
        assert set(re.findall(r"--[\w-]+", line)) <= options(name), line


def test_every_option_of_a_server_is_described() -> None:
    named = set(re.findall(r"--[\w-]+", PAGES["server.md"]))
    assert options("millstream server") <= named | {"--help"}


@pytest.mark.parametrize("page", PAGES)
def test_properties(page: str) -> None:
    named = set(re.findall(r"(?<![\w-])ksql\.[a-z0-9._]+\b\.?", PAGES[page]))
    assert {name for name in named if name not in ELSEWHERE and definition_of(name) is None} == set()
