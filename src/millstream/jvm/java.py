"""Java, which Spark, the development broker and Kafka Connect run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from millstream.jvm.errors import JvmError

OLDEST = 17
_HINT = f"install a Java runtime, version {OLDEST} or later, and set JAVA_HOME to it or put it on PATH"


def find_java() -> str:
    """The path of a `java` that is new enough: JAVA_HOME's, else the first on PATH."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home, "bin", "java")) if home else "java"
    found = shutil.which(path)
    if found is None:
        detail = f"JAVA_HOME is {home}, but there is no {path}" if home else "there is no java on PATH"
        raise JvmError("Java is missing", detail=detail, hint=_HINT)
    version = _version(found)
    if version < OLDEST:
        raise JvmError(f"Java is too old: {version}", detail=f"it is {found}", hint=_HINT)
    return found


@cache
def _version(java: str) -> int:
    result = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - found above
    match = re.search(r'version "(\d+)(?:\.(\d+))?', result.stderr)
    if match is None:
        raise JvmError(f"{java} does not say its version", detail=result.stderr.strip() or None, hint=_HINT)
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major  # 1.8 was version 8
