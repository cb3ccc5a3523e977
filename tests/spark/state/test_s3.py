"""A checkpoint on S3: one place in two spellings, files that are whole, and no step that takes a rename."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs
from tests.s3_server import S3Server

from millstream import ArgumentError, StateStoreError, StreamsError
from millstream.spark.driver.agreement import SparkLog
from millstream.spark.driver.setting_aside import SetAside
from millstream.spark.startup.s3_client import s3_properties
from millstream.spark.state import levels, s3, storage
from millstream.spark.state.checkpoint import Checkpoint
from millstream.spark.state.statefiles import StateFiles, Version
from millstream.state.store import LogEntry

VERSIONS = [Version(batch, 0) for batch in range(1, 10)]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture(params=["s3", "s3a"])
def location(request: pytest.FixtureRequest, server: S3Server) -> str:
    return f"{request.param}://{server.new_bucket()}/apps/orders"


def names(location: str, server: S3Server) -> list[str]:
    """All objects of a bucket."""
    files, path = storage.filesystem(location, server.properties)
    selector = fs.FileSelector(path.split("/")[0], recursive=True)
    return sorted(info.path for info in files.get_file_info(selector) if info.is_file)


def test_notes_are_written_and_read_in_both_spellings(location: str, server: S3Server) -> None:
    checkpoint = Checkpoint(location, server.properties)
    assert checkpoint.known_id() is None
    checkpoint.write("application.json", {"format": 3, "id": "x"})
    checkpoint.write("note.json", {})
    checkpoint.remove("note.json")
    for spelling in ("s3", "s3a"):
        other = Checkpoint(f"{spelling}://{location.split('://')[1]}", server.properties)
        assert other.known_id() == "x"
    bucket = location.split("/")[2]
    assert names(location, server) == [f"{bucket}/apps/orders/millstream/application.json"]
    assert SparkLog.read(location, server.properties).latest is None


def test_state_is_written_merged_and_read(location: str, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "RUN", 3)
    files, root = storage.filesystem(location, server.properties)
    writer, reader = (StateFiles(files, f"{root}/millstream/state/0_0") for _ in range(2))
    for version in VERSIONS:
        writer.write_changes(version, {"s": {b"k": b"%d" % version.batch, b"%d" % version.batch: b""}}, b"p")
        writer.merge_before(version.batch - 1)
        if version.batch == 4:
            writer.write_base({"s": [(b"k", b"4"), *((b"%d" % n, b"") for n in range(1, 5))]}, b"p")
        writer.forget_before(version.batch - 1)
    found: dict[bytes, bytes | None] = {}

    def apply(_: str, entries: list[LogEntry]) -> None:
        found.update(entries)

    assert reader.restore(Version(10, 0), apply, at_least=VERSIONS[-1]) == b"p"
    assert found == {b"k": b"9", **{b"%d" % n: b"" for n in range(1, 10)}}
    assert [name.rsplit("/", 1)[1] for name in names(location, server)] == [
        "000000000004-000.base",
        "000000000004-000.changes",
        "000000000007-000.since-000000000004-000.level-1.merged",
        "000000000008-000.changes",
        "000000000009-000.changes",
    ]


def test_a_file_whose_writer_fails_is_not_there(location: str, server: S3Server) -> None:
    files, root = storage.filesystem(location, server.properties)

    def half(stream: object) -> None:
        stream.write(b"half")  # type: ignore[attr-defined]
        raise ValueError("the rest cannot be made")

    with pytest.raises(ValueError, match="the rest"):
        storage.write_whole(files, f"{root}/file", half)
    assert names(location, server) == []


def test_a_large_file_comes_into_being_at_once(server: S3Server) -> None:
    files, root = storage.filesystem(f"s3://{server.new_bucket()}/x", server.properties)
    content = b"0123456789abcdef" * (1 << 20)  # more than one part of an upload, and than what is kept in memory
    storage.write_whole(files, f"{root}/file", lambda stream: stream.write(content))
    with files.open_input_stream(f"{root}/file") as stream:
        assert stream.read() == content


def test_what_cannot_be_written_is_told_without_keys(server: S3Server) -> None:
    files, root = storage.filesystem("s3://no-such-bucket/x", server.properties)
    with pytest.raises(StateStoreError, match="cannot be written") as raised:
        StateFiles(files, f"{root}/0_0").write_changes(Version(1, 0), {}, b"")
    with pytest.raises(StreamsError) as also:
        Checkpoint("s3://no-such-bucket/x", server.properties).write("note.json", {})
    for told in (str(raised.value), str(also.value)):
        assert "no-such-bucket" in told
        assert "nobody-is-to-see" not in told


def test_it_is_set_aside_and_put_back_without_renames(location: str, server: S3Server) -> None:
    checkpoint = Checkpoint(location, server.properties)
    checkpoint.write("application.json", {"format": 3, "id": "old"})
    checkpoint.write("other.json", {})
    aside = SetAside.move(location, server.properties)
    assert aside is not None
    assert aside.path.startswith(f"{location}.damaged-")
    assert checkpoint.known_id() is None
    assert Checkpoint(aside.path, server.properties).known_id() == "old"
    checkpoint.write("other.json", {"of": "a start that came to nothing"})
    assert aside.put_back()
    assert checkpoint.known_id() == "old"
    assert checkpoint.read("other.json") == {}
    assert not any("damaged" in name for name in names(location, server))
    aside = SetAside.move(location, server.properties)
    assert aside is not None
    checkpoint.write("application.json", {"format": 3, "id": "new"})
    assert not aside.put_back()
    assert checkpoint.known_id() == "new"


def test_who_is_killed_while_it_is_set_aside_leaves_a_checkpoint_or_a_damaged_one(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note goes last: what is left of it never looks as if it were a new one."""
    removed: list[str] = []
    location = f"s3://{server.new_bucket()}/x"
    checkpoint = Checkpoint(location, server.properties)
    for name in ("a.json", "application.json", "b.json"):
        checkpoint.write(name, {"format": 3, "id": "x"})

    class Watched:
        def __init__(self, files: fs.FileSystem) -> None:
            self._files = files

        def __getattr__(self, name: str) -> object:
            return getattr(self._files, name)

        def delete_file(self, path: str) -> None:
            removed.append(path.rsplit("/", 1)[1])
            assert Checkpoint(location, server.properties).known_id() == "x"
            self._files.delete_file(path)

    def filesystem(*arguments: object) -> tuple[Watched, str]:
        files, path = storage.filesystem(*arguments)  # type: ignore[arg-type]
        return Watched(files), path

    monkeypatch.setattr("millstream.spark.driver.setting_aside.filesystem", filesystem)
    monkeypatch.setattr("millstream.spark.driver.setting_aside.moves_files", lambda _: False)
    assert SetAside.move(location, server.properties) is not None
    assert removed == ["a.json", "b.json", "application.json"]


# --- settings


def test_both_clients_get_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert s3.hadoop_properties("s3://b/x", {}) == {}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store:9000")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert s3.hadoop_properties("s3://b/x", {}) == {
        "spark.hadoop.fs.s3a.bucket.b.endpoint": "http://store:9000",
        "spark.hadoop.fs.s3a.bucket.b.endpoint.region": "eu-central-1",
        "spark.hadoop.fs.s3a.bucket.b.path.style.access": "true",
    }
    given = {
        "spark.hadoop.fs.s3a.endpoint": "store:9001",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.bucket.b.endpoint.region": "here",
        "spark.hadoop.fs.s3a.secret.key": "xyz",
    }
    told = s3.hadoop_properties("s3a://b/x", given)
    assert told["spark.hadoop.fs.s3a.bucket.b.endpoint"] == "store:9001"
    assert told["spark.hadoop.fs.s3a.bucket.b.endpoint.region"] == "here"
    assert "xyz" not in str(told)
    assert "xyz" not in repr(s3._Settings.of("b", given))


def test_spark_gets_hadoops_spelling() -> None:
    assert storage.spark_url("s3://b/x") == storage.spark_url("s3a://b/x/") == "s3a://b/x"
    assert storage.spark_url("/a/b") == "/a/b"
    assert storage.spark_url("hdfs://name:8020/x") == "hdfs://name:8020/x"


def test_a_client_is_fetched_only_if_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fetched: list[str] = []

    def fetch(title: str, *_: object) -> list[Path]:
        fetched.append(title)
        return [tmp_path / "hadoop-aws-3.5.0.jar", tmp_path / "slf4j-api-1.7.36.jar"]

    monkeypatch.setattr("millstream.spark.startup.s3_client.fetch_jars", fetch)
    assert s3_properties("/a/path", {}) == {}
    assert "spark.jars" not in s3_properties("s3://b/x", {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.1"})
    assert fetched == []
    found = s3_properties("s3://b/x", {"spark.jars": "/mine.jar"})
    assert found["spark.jars"] == f"/mine.jar,{tmp_path}/hadoop-aws-3.5.0.jar"  # Spark has slf4j

    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-client-api-3.4.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(StreamsError, match="no client for S3") as raised:
        s3_properties("s3://b/x", {})
    assert "3.4.1" in str(raised.value.detail)


# --- other places


@pytest.mark.parametrize("location", ["{}/x", "file:{}/x", "file://{}/x"])
def test_a_local_directory_in_every_spelling(location: str, tmp_path: Path) -> None:
    files, path = storage.filesystem(location.format(tmp_path))
    assert isinstance(files, fs.LocalFileSystem)
    assert path == f"{tmp_path}/x"


def test_another_store_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a store that is not known here") as raised:
        storage.filesystem("ftp://host/x")
    assert "hdfs://" in str(raised.value.hint)
