"""Java is found, and is new enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.jvm import java
from millstream.jvm.errors import JvmError


@pytest.fixture(autouse=True)
def _ask_again() -> None:
    java._version.cache_clear()


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2", "25-ea"])
def test_new_enough(fake_java: Callable[..., Path], version: str) -> None:
    path = fake_java("", version)
    assert java.find_java() == str(path)


@pytest.mark.parametrize(("version", "said"), [("1.8.0_402", "8"), ("11.0.22", "11"), ("16.0.1", "16")])
def test_too_old(fake_java: Callable[..., Path], version: str, said: str) -> None:
    fake_java("", version)
    with pytest.raises(JvmError, match=rf"^Java is too old: {said}") as caught:
        java.find_java()
    assert "version 17 or later" in str(caught.value.hint)


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JvmError, match=r"^Java is missing") as caught:
        java.find_java()
    assert caught.value.detail == "there is no java on PATH"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JvmError, match=r"^Java is missing") as caught:
        java.find_java()
    assert "JAVA_HOME is" in str(caught.value.detail)


def test_something_else(fake_java: Callable[..., Path]) -> None:
    fake_java("", '"')
    with pytest.raises(JvmError, match="does not say its version"):
        java.find_java()
