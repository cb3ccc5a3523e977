"""Jars from Maven Central with all they need: fetched once, kept in a directory of their own.

A complete set lies beside a manifest of sizes and checksums. It gets its final name only when it is complete, so that a
fetch that was cut short is never used.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from millstream.errors import ArgumentError
from millstream.jvm.errors import JvmError
from millstream.jvm.java import find_java

_MANIFEST = "manifest.json"
_ATTEMPTS = 3
_JARS = 50  # for the progress bar only
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # parts become names of files, too


@dataclass(frozen=True)
class Artifact:
    """Something that is published to Maven.

    >>> Artifact.parse("org.apache.kafka:connect-file:4.3.1").name
    'connect-file'
    """

    group: str
    name: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Artifact:
        """An artifact by its coordinates, `group:artifact:version`.

        Raises:
            ArgumentError: the text is something else.
        """
        parts = text.split(":")
        if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
            raise ArgumentError(
                f"{text!r} are no Maven coordinates",
                hint="write group:artifact:version, such as org.apache.kafka:connect-file:4.3.1",
            )
        return cls(*parts)

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


def fetch_jars(title: str, artifacts: Sequence[Artifact], home: Path, alone: Collection[Artifact] = ()) -> list[Path]:
    """The jars of some artifacts and of all they need, fetched if they are not there yet.

    Args:
        title: what they are, for people.
        artifacts: what is wanted; the first is what the others are for.
        home: the directory to keep them in. Nothing else may be there.
        alone: those of the artifacts that are wanted without what they need.
    """
    jars = _complete(home)
    if jars is None:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _locked(home.with_name(f"{home.name}.lock")):
            jars = _complete(home)  # another process may have fetched them while this one waited
            if jars is None:
                jars = _fetch(title, artifacts, home, alone)
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


def _fetch(title: str, artifacts: Sequence[Artifact], home: Path, alone: Collection[Artifact]) -> list[Path]:
    java = find_java()
    partial = home.with_name(f"{home.name}.partial")
    first = f"{artifacts[0].name}-{artifacts[0].version}.jar"
    output: deque[str] = deque(maxlen=20)
    for _ in range(_ATTEMPTS):
        shutil.rmtree(partial / "jars", ignore_errors=True)
        partial.mkdir(exist_ok=True)  # what an earlier attempt downloaded serves the next one
        (partial / "ivy.xml").write_text(_ivy_module(artifacts, alone), encoding="utf-8")
        if _retrieve(java, title, partial, output) == 0 and (partial / "jars" / first).exists():
            break
    else:
        raise JvmError(
            f"{title} cannot be fetched",
            detail=f"tried {_ATTEMPTS} times; Ivy's last words:\n" + "\n".join(output),
            hint="check that this machine reaches Maven Central, then try again",
        )
    jars = sorted((partial / "jars").glob("*.jar"))
    manifest = {jar.name: {"size": jar.stat().st_size, "sha256": _sha256(jar)} for jar in jars}
    (partial / "jars" / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    shutil.rmtree(home, ignore_errors=True)
    (partial / "jars").rename(home)
    shutil.rmtree(partial, ignore_errors=True)
    return [home / jar.name for jar in jars]


def _ivy_module(artifacts: Sequence[Artifact], alone: Collection[Artifact]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(one.group)} name={quoteattr(one.name)} rev={quoteattr(one.version)}"
        f' conf="default->{"master" if one in alone else "default"}"/>'
        for one in artifacts
    )
    return (
        '<ivy-module version="2.0"><info organisation="millstream" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _retrieve(java: str, title: str, directory: Path, output: deque[str]) -> int:
    """Run Ivy once. Its last lines are left in `output`."""
    command = [java, "-jar", str(_ivy()), "-ivy", str(directory / "ivy.xml"), "-cache", str(directory / "ivy-cache")]
    command += ["-confs", "default", "-retrieve", str(directory / "jars" / "[artifact]-[revision].[ext]")]
    with (
        subprocess.Popen(  # noqa: S603 - java was found and the rest is ours
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as ivy,
        _progress(title) as (progress, task),
    ):
        for line in ivy.stdout or ():
            line = line.rstrip()
            if line.strip(". "):
                output.append(line)
            if line.startswith("\tfound ") or "[SUCCESSFUL ]" in line:
                progress.advance(task)
    return ivy.returncode


@contextmanager
def _progress(title: str) -> Iterator[tuple[Progress, TaskID]]:
    percent = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        # Every jar counts twice: once when it is found to be needed, once when it is there.
        yield progress, progress.add_task(f"fetching {title}", total=2 * _JARS)


def _ivy() -> Path:
    spec = find_spec("pyspark")  # not imported: only its files are needed
    if spec is not None and spec.origin is not None:
        for jar in sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")):
            return jar
    raise JvmError("Ivy is missing", detail="PySpark ships it, but no PySpark was found", hint="install pyspark")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
