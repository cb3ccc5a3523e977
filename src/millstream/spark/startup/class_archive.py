"""An archive of the classes that Spark loads: a JVM that has it starts in half the time (class data sharing).

It fits one Java and one PySpark, and is named after both. A JVM for which it does not fit does without.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

from millstream.directories import cache_directory
from millstream.errors import StreamsError
from millstream.jvm.java import find_java

#: It is not worth a word if an archive does not fit, or which classes it does not take.
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_path() -> Path:
    """Where the archive is, or would be."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    fits = hashlib.sha256(pyspark.__version__.encode())
    for part in (Path(pyspark.__file__).parent / "jars", Path(java or "java").resolve()):
        fits.update(f"\n{part} {part.stat().st_mtime_ns if part.exists() else 0}".encode())
    return cache_directory() / "classes" / f"spark-{fits.hexdigest()[:16]}.jsa"


def options_to_use() -> list[str]:
    """The options with which a JVM of Spark's uses the archive; none if there is no archive."""
    archive = archive_path()
    return [f"-XX:SharedArchiveFile={archive}", *_QUIET] if archive.exists() else []


def make() -> Path:
    """Make the archive, by a small query in a process of its own.

    Raises:
        MillstreamError: there is no Java that can do it.
    """
    find_java()
    archive = archive_path()
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_suffix(f".{os.getpid()}")
    options = [f"-XX:ArchiveClassesAtExit={partial}", *_QUIET]
    try:
        result = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "millstream.spark.startup.rehearsal", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if result.returncode != 0 or not partial.exists():
            raise StreamsError(
                "the class archive cannot be made",
                detail=result.stdout[-2_000:].strip() or "Java wrote none, and did not say why",
                hint="applications run without it; they take longer to start",
            )
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
    return archive
