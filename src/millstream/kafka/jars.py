"""Apache Kafka's jars: fetched once from Maven Central, kept in the user's cache directory.

A complete set lies in a directory of its own beside a manifest of sizes and checksums. It gets its final name only
when it is complete, so that a fetch that was cut short is never used.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from millstream.kafka.directories import cache_directory
from millstream.kafka.errors import DevBrokerError
from millstream.kafka.java import find_java

KAFKA_VERSION = "4.3.1"

_MANIFEST = "manifest.json"
_ATTEMPTS = 3
_JARS = 46  # for the progress bar only
# Kafka comes with no binding for slf4j, and without one it logs nothing, not even why it cannot start.
_IVY_MODULE = f"""\
<ivy-module version="2.0">
  <info organisation="millstream" module="dev-broker"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA_VERSION}" conf="default->default"/>
    <dependency org="org.slf4j" name="slf4j-simple" rev="1.7.36" conf="default->default"/>
  </dependencies>
</ivy-module>
"""


def kafka_jars(cache: Path | None = None) -> list[Path]:
    """The jars of Apache Kafka, fetched if they are not there yet.

    Args:
        cache: the directory to keep them in; the user's cache directory unless given.
    """
    cache = cache or cache_directory()
    home = cache / f"kafka-{KAFKA_VERSION}"
    jars = _complete(home)
    if jars is None:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"kafka-{KAFKA_VERSION}.lock"):
            jars = _complete(home)  # another process may have fetched them while this one waited
            if jars is None:
                jars = _fetch(home)
    return jars


def _complete(home: Path) -> list[Path] | None:
    """The jars that the manifest lists, or None if one of them is missing or damaged."""
    try:
        manifest = json.loads((home / _MANIFEST).read_bytes())
        for name, entry in manifest.items():
            content = (home / name).read_bytes()
            if len(content) != entry["size"] or hashlib.sha256(content).hexdigest() != entry["sha256"]:
                return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return [home / name for name in manifest]


def _fetch(home: Path) -> list[Path]:
    java = find_java()
    partial = home.with_name(f"{home.name}.partial")
    output: deque[str] = deque(maxlen=20)
    for _ in range(_ATTEMPTS):
        shutil.rmtree(partial / "jars", ignore_errors=True)
        partial.mkdir(exist_ok=True)  # what an earlier attempt downloaded serves the next one
        if _retrieve(java, partial, output) == 0 and any((partial / "jars").glob("kafka_2.13-*.jar")):
            break
    else:
        raise DevBrokerError(
            f"Apache Kafka {KAFKA_VERSION} cannot be fetched",
            detail=f"tried {_ATTEMPTS} times; Ivy's last words:\n" + "\n".join(output),
            hint="check that this machine reaches repo1.maven.org, then try again",
        )
    jars = sorted((partial / "jars").glob("*.jar"))
    manifest = {jar.name: {"size": jar.stat().st_size, "sha256": _sha256(jar)} for jar in jars}
    (partial / "jars" / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    shutil.rmtree(home, ignore_errors=True)
    (partial / "jars").rename(home)
    shutil.rmtree(partial, ignore_errors=True)
    return [home / jar.name for jar in jars]


def _retrieve(java: str, directory: Path, output: deque[str]) -> int:
    """Run Ivy once. Its last lines are left in `output`."""
    module = directory / "ivy.xml"
    module.write_text(_IVY_MODULE, encoding="utf-8")
    command = [java, "-jar", str(_ivy()), "-ivy", str(module), "-cache", str(directory / "ivy-cache")]
    command += ["-confs", "default", "-retrieve", str(directory / "jars" / "[artifact]-[revision].[ext]")]
    with (
        subprocess.Popen(  # noqa: S603 - java was found and the rest is ours
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as ivy,
        _progress() as (progress, task),
    ):
        for line in ivy.stdout or ():
            line = line.rstrip()
            if line.strip(". "):
                output.append(line)
            if line.startswith("\tfound ") or "[SUCCESSFUL ]" in line:
                progress.advance(task)
    return ivy.returncode


@contextmanager
def _progress() -> Iterator[tuple[Progress, TaskID]]:
    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        # Every jar counts twice: once when it is found to be needed, once when it is there.
        yield progress, progress.add_task(f"fetching Apache Kafka {KAFKA_VERSION}", total=2 * _JARS)


def _ivy() -> Path:
    spec = find_spec("pyspark")  # not imported: only its files are needed
    if spec is not None and spec.origin is not None:
        for jar in sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")):
            return jar
    raise DevBrokerError("Ivy is missing", detail="PySpark ships it, but no PySpark was found", hint="install pyspark")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
