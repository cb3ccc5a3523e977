"""Kafka Connect's jars and those of its plug-ins, in the user's cache directory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from millstream.directories import cache_directory
from millstream.jvm.maven import Artifact, fetch_jars
from millstream.kafka.jars import KAFKA_VERSION, LOGGING

_KAFKA = "org.apache.kafka"
_RUNTIME = Artifact(_KAFKA, "connect-runtime", KAFKA_VERSION)
#: Connectors for files: a plug-in, so it must not be among the worker's own jars.
_FILES = Artifact(_KAFKA, "connect-file", KAFKA_VERSION)


def connect_jars() -> tuple[list[Path], list[Path]]:
    """The jars of a worker and those of the connectors for files, fetched if they are not there yet."""
    home = cache_directory() / f"connect-{KAFKA_VERSION}"
    found = fetch_jars(f"Kafka Connect {KAFKA_VERSION}", [_RUNTIME, _FILES, LOGGING], home)
    files = [jar for jar in found if jar.name.startswith(_FILES.name)]
    return [jar for jar in found if jar not in files], files


def plugin_jars(plugin: Artifact) -> list[Path]:
    """The jars of a plug-in and of what it needs, fetched if they are not there yet."""
    home = cache_directory() / "connect-plugins" / str(plugin).replace(":", "-")
    return fetch_jars(str(plugin), [plugin], home)


def without(jars: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """The jars that are not among the others, in whatever version.

    A plug-in must not bring what the worker has: it would find services of the worker's copy that do not fit its own.

    >>> without([Path("jackson-core-2.19.0.jar"), Path("stones-1.jar")], [Path("jackson-core-2.21.2.jar")])
    [PosixPath('stones-1.jar')]
    """
    there = {_artifact(jar) for jar in others}
    return [jar for jar in jars if _artifact(jar) not in there]


def _artifact(jar: Path) -> str:
    return re.sub(r"-\d.*", "", jar.name)


def lay_out(plugins: Iterable[tuple[str, Iterable[Path]]], directory: Path) -> None:
    """Make a directory for `plugin.path`: below it one directory for each plug-in, with links to its jars.

    Args:
        plugins: a name for each, and its jars.
        directory: is made; what was there from an earlier start goes.
    """
    directory.mkdir(exist_ok=True)
    for before in directory.iterdir():
        for link in before.iterdir():
            link.unlink()
        before.rmdir()
    for name, jars in plugins:
        home = directory / name
        home.mkdir()
        for jar in jars:
            (home / jar.name).symlink_to(jar)
