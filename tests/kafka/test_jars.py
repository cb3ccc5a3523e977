"""Jars are fetched once, completely, and again when they are damaged."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.jvm.errors import JvmError
from millstream.kafka.jars import KAFKA_VERSION, kafka_jars

# Stands for `java -jar ivy.jar ... -retrieve <pattern>`: writes two jars, and counts how often it ran.
_IVY = """
echo run >> "$0.d/runs"
for last; do :; done
mkdir -p "$(dirname "$last")"
echo one > "$(dirname "$last")/kafka_2.13-4.3.1.jar"
[ -e "$0.d/fail" ] && [ "$(wc -l < "$0.d/runs")" -le "$(cat "$0.d/fail")" ] && { echo "no route to host"; exit 1; }
echo two > "$(dirname "$last")/slf4j-api.jar"
"""


@pytest.fixture
def runs(fake_java: Callable[..., Path]) -> Path:
    return fake_java(_IVY).with_name("java.d") / "runs"


def _count(runs: Path) -> int:
    return len(runs.read_text().splitlines())


def test_once(runs: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    jars = kafka_jars(cache)
    assert [jar.name for jar in jars] == ["kafka_2.13-4.3.1.jar", "slf4j-api.jar"]
    assert all(jar.parent == cache / f"kafka-{KAFKA_VERSION}" for jar in jars)
    assert kafka_jars(cache) == jars
    assert _count(runs) == 1
    manifest = json.loads((jars[0].parent / "manifest.json").read_bytes())
    assert manifest["slf4j-api.jar"]["size"] == 4
    assert {path.name for path in cache.iterdir()} == {f"kafka-{KAFKA_VERSION}", f"kafka-{KAFKA_VERSION}.lock"}


@pytest.mark.parametrize("damage", ["changed", "removed", "no manifest"])
def test_again_after_damage(runs: Path, tmp_path: Path, damage: str) -> None:
    jars = kafka_jars(tmp_path)
    if damage == "changed":
        jars[1].write_text("tow\n")
    elif damage == "removed":
        jars[1].unlink()
    else:
        (jars[1].parent / "manifest.json").unlink()
    assert kafka_jars(tmp_path) == jars
    assert jars[1].read_text() == "two\n"
    assert _count(runs) == 2


def test_tried_again(runs: Path, tmp_path: Path) -> None:
    (runs.parent / "fail").write_text("2")
    assert len(kafka_jars(tmp_path)) == 2
    assert _count(runs) == 3


def test_a_half_fetch_is_not_used(runs: Path, tmp_path: Path) -> None:
    (runs.parent / "fail").write_text("3")
    with pytest.raises(JvmError, match="cannot be fetched") as caught:
        kafka_jars(tmp_path)
    assert "no route to host" in str(caught.value.detail)
    assert not (tmp_path / f"kafka-{KAFKA_VERSION}").exists()
    assert len(kafka_jars(tmp_path)) == 2


def test_two_at_once(runs: Path, tmp_path: Path) -> None:
    found: list[list[Path]] = []
    threads = [threading.Thread(target=lambda: found.append(kafka_jars(tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _count(runs) == 1
    assert found == [found[0]] * 4
