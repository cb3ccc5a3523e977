"""What makes Spark start quickly, and that it starts without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.errors import StreamsError
from millstream.spark.startup import class_archive, session
from millstream.spark.startup.rehearsal import Rehearsal


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_workers_import_the_installed_pyspark() -> None:
    path = os.pathsep.join(
        ["/a b", "/opt/spark/python/lib/pyspark.zip", "/opt/spark/python/lib/py4j-0.10.9.9-src.zip", "/c"]
    )
    result = subprocess.run(  # noqa: S603
        [session._WORKER_PYTHON, "-c", "import sys; print(sys.argv[1:], sys.path[1:3])", "one two"],
        env={"PYTHONPATH": path, "MILLSTREAM_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "['one two'] ['/a b', '/c']"


def test_a_users_own_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    session._choose_python(local=True)
    assert os.environ["PYSPARK_PYTHON"] == "/usr/bin/python3"


@pytest.mark.parametrize(("local", "chosen"), [(True, str(session._WORKER_PYTHON)), (False, sys.executable)])
def test_elsewhere_workers_start_python_itself(monkeypatch: pytest.MonkeyPatch, local: bool, chosen: str) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "")  # restored afterwards
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setenv("MILLSTREAM_PYTHON", "")
    session._choose_python(local=local)
    assert os.environ["PYSPARK_PYTHON"] == chosen


def test_a_users_own_logging_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert not session._has_own_files()
    assert session._logging(Path("/a b/app.log")) == [
        f"-Dlog4j2.configurationFile={session._LOGGING.as_uri()}",
        '"-Dmillstream.log=/a b/app.log"',
    ]
    assert session._LOGGING.exists()
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert session._has_own_files()
    assert session._logging(None) == []


def test_an_archive_is_used_when_it_is_there() -> None:
    assert class_archive.options_to_use() == []
    archive = class_archive.archive_path()
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert class_archive.options_to_use()[0] == f"-XX:SharedArchiveFile={archive}"


def test_another_java_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = class_archive.archive_path()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert class_archive.archive_path() != before


def test_no_archive_is_left_if_it_cannot_be_made(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(StreamsError, match="the class archive cannot be made"):
        class_archive.make()
    assert list(cache.rglob("*.*")) == []


def test_prepare_makes_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make() -> Path:
        archive = class_archive.archive_path()
        archive.parent.mkdir(parents=True)
        archive.touch()
        made.append(archive)
        return archive

    monkeypatch.setattr(class_archive, "make", make)
    for jars in ("kafka_jars", "connect_jars"):
        monkeypatch.setattr(f"millstream.cli.commands.prepare.{jars}", list)
    for _ in range(2):
        result = CliRunner().invoke(app, ["prepare"])
        assert result.exit_code == 0, result.output
        assert result.output.strip() == f"ready: {class_archive.archive_path()}"
    assert len(made) == 1


def test_the_rehearsal_has_rows_for_a_few_batches() -> None:
    reader = Rehearsal({}).streamReader(None)  # type: ignore[arg-type]
    offsets = [reader.initialOffset()]
    while (end := reader.latestOffset(offsets[-1], reader.getDefaultReadLimit())) != offsets[-1]:
        assert [list(reader.read(part)) for part in reader.partitions(offsets[-1], end)] == [[(0, 0, b"parcel")]] * 2
        offsets.append(end)
    assert len(offsets) == 4
