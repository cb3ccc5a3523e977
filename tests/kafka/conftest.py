"""A Java that does what a test wants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """`fake_java(script, version)` sets JAVA_HOME to a java that runs a shell script; $0.d is a directory for it."""

    def make(script: str, version: str = "17.0.1") -> Path:
        java = tmp_path / "java-home" / "bin" / "java"
        java.parent.mkdir(parents=True, exist_ok=True)
        java.with_name("java.d").mkdir(exist_ok=True)
        say = f"""if [ "$1" = -version ]; then echo 'openjdk version "{version}"' >&2; exit; fi"""
        java.write_text(f"#!/bin/sh\n{say}\n{script}\n", encoding="utf-8")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java-home"))
        return java

    return make
