"""How commands listen."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.cli.listening import read_users
from millstream.errors import ArgumentError
from millstream.server.settings import ServerSettings


def test_users_and_those_who_only_look(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# people\nann:pass:word\n\neve:secret:readonly\n")
    found = read_users(file)
    assert found.users == (("ann", "pass:word"), ("eve", "secret"))
    assert found.readers == ("eve",)
    assert read_users(None).users == ()


def test_a_line_without_a_password_is_told(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("ann\n")
    with pytest.raises(ArgumentError):
        read_users(file)


def test_one_who_only_looks_is_a_user() -> None:
    with pytest.raises(ArgumentError):
        ServerSettings(users=(("ann", "word"),), readers=("eve",))
