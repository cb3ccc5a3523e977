"""A worker by a file of properties, as ksqlDB's server runs one."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.connect.embedded import embedded_worker
from millstream.errors import ArgumentError


def test_its_port(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    base = "bootstrap.servers=localhost:9092\ngroup.id=c\n"
    for listeners, port in (("", 8083), ("listeners=https://:1,http://localhost:9083\n", 9083)):
        file.write_text(base + listeners)
        assert embedded_worker(file).url == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read"),
        ("bootstrap.servers=localhost:9092\n", "does not describe a distributed worker"),
        ("bootstrap.servers=localhost:9092\ngroup.id=c\nlisteners=https://:1\n", "no listener"),
    ],
)
def test_what_cannot_work(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "worker.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ArgumentError, match=problem):
        embedded_worker(file)
