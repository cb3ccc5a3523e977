"""The Java peers' jars, fetched once into the user's cache directory, and their classes, compiled into bench/out."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from millstream.directories import cache_directory
from millstream.jvm.java import find_java

KAFKA_STREAMS_VERSION = "4.1.0"
MAIN_CLASS = "KafkaStreamsPeer"

HERE = Path(__file__).parent
OUT = HERE.parent / "out"
SOURCES = tuple(sorted(HERE.glob("*.java")))

_ATTEMPTS = 3
_MANIFEST = "manifest.json"
_IVY_MODULE = f"""\
<ivy-module version="2.0">
  <info organisation="millstream" module="bench-peer"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka-streams" rev="{KAFKA_STREAMS_VERSION}" conf="default->default"/>
    <dependency org="org.slf4j" name="slf4j-simple" rev="1.7.36" conf="default->default"/>
  </dependencies>
</ivy-module>
"""


class BuildError(Exception):
    """The Java peer cannot be built."""


def kafka_streams_jars(cache: Path | None = None) -> list[Path]:
    """The jars of Kafka Streams, fetched if they are not there yet.

    Args:
        cache: the directory to keep them in; the user's cache directory unless given.
    """
    cache = cache or cache_directory()
    home = cache / f"kafka-streams-{KAFKA_STREAMS_VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process fetches, the others wait for it
        return _complete(home) or _fetch(home)


def build(out: Path = OUT) -> str:
    """Compile the peers if their sources changed, and give the classpath to run them with."""
    jars = kafka_streams_jars()
    classpath = ":".join(map(str, jars))
    state = hashlib.sha256(
        b"".join(source.read_bytes() for source in SOURCES) + KAFKA_STREAMS_VERSION.encode()
    ).hexdigest()
    classes = out / "peer-classes"
    stamp = classes / "built-from"
    if not stamp.exists() or stamp.read_text() != state:
        shutil.rmtree(classes, ignore_errors=True)
        classes.mkdir(parents=True)
        command = [_javac(), "--release", "17", "-Xlint:all", "-cp", classpath, "-d", str(classes)]
        command += map(str, SOURCES)
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        if compiled.returncode != 0:
            raise BuildError(f"the Java peers do not compile:\n{compiled.stdout}{compiled.stderr}")
        stamp.write_text(state)
    return f"{classes}:{classpath}"


def _javac() -> str:
    beside = Path(find_java()).with_name("javac")
    found = str(beside) if beside.exists() else shutil.which("javac")
    if found is None:
        raise BuildError("there is no javac: install a JDK (17 or later), not only a Java runtime")
    return found


def _complete(home: Path) -> list[Path] | None:
    """The jars that the manifest lists, or None if one of them is missing or damaged."""
    try:
        manifest: dict[str, str] = json.loads((home / _MANIFEST).read_bytes())
        if any(_sha256(home / name) != checksum for name, checksum in manifest.items()):
            return None
    except (OSError, ValueError):
        return None
    return [home / name for name in manifest]


def _fetch(home: Path) -> list[Path]:
    partial = home.with_name(f"{home.name}.partial")
    module = partial / "ivy.xml"
    jars = partial / "jars"
    command = [find_java(), "-jar", str(_ivy()), "-ivy", str(module), "-cache", str(partial / "ivy-cache")]
    command += ["-confs", "default", "-retrieve", str(jars / "[artifact]-[revision].[ext]")]
    output = ""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(jars, ignore_errors=True)
        partial.mkdir(exist_ok=True)  # what an earlier attempt downloaded serves the next one
        module.write_text(_IVY_MODULE, encoding="utf-8")
        ivy = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - java was found
        output = ivy.stdout + ivy.stderr
        if ivy.returncode == 0 and (jars / f"kafka-streams-{KAFKA_STREAMS_VERSION}.jar").exists():
            break
    else:
        last = "\n".join(output.splitlines()[-20:])
        raise BuildError(f"Kafka Streams {KAFKA_STREAMS_VERSION} cannot be fetched; Ivy's last words:\n{last}")
    manifest = {jar.name: _sha256(jar) for jar in sorted(jars.glob("*.jar"))}
    (jars / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    shutil.rmtree(home, ignore_errors=True)
    jars.rename(home)
    shutil.rmtree(partial, ignore_errors=True)
    return [home / name for name in manifest]


def _ivy() -> Path:
    spec = find_spec("pyspark")  # not imported: only its files are needed
    if spec is not None and spec.origin is not None:
        for jar in sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")):
            return jar
    raise BuildError("there is no Ivy: PySpark ships it, but no PySpark was found")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
