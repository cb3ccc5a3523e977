"""The whole checkpoint on S3: an application is killed and goes on there, and every result is there exactly once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Message
from pyarrow import fs
from tests.s3_server import S3Server

from millstream.kafka.detached import DetachedBroker
from millstream.spark.state.storage import filesystem

from . import s3_app

WORDS, EACH = 20, 60
PATIENCE_SECONDS = 300.0


@contextmanager
def running(arguments: list[str], properties: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The application; killed with its JVM in the end."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, s3_app.__file__, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "S3_PROPERTIES": json.dumps(properties)},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def command_lines() -> str:
    """What everybody can see of all processes."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            found.append((entry / "cmdline").read_bytes().decode(errors="replace"))
    return "\n".join(found)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_an_application_that_is_killed_goes_on(
    scheme: str,
    broker: DetachedBroker,
    make_topic: Callable[..., str],
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    source, target = make_topic(2, name="words"), make_topic(2, name="counts")
    log = tmp_path / "app.log"
    with S3Server() as server:
        location = f"{scheme}://{server.new_bucket()}/apps/words"
        arguments = [broker.bootstrap_servers, source, target, location, str(tmp_path / "state")]
        records = [(str(number), f"word{number % WORDS}") for number in range(WORDS * EACH)]
        half = len(records) // 2
        produce(source, records[:half])
        try:
            with running(arguments, server.properties, log):
                consume(target, half // 2, PATIENCE_SECONDS)
                assert server.properties["spark.hadoop.fs.s3a.secret.key"] not in command_lines()
            produce(source, records[half:])
            with running(arguments, server.properties, log):
                consume(target, len(records), PATIENCE_SECONDS)
                found = consume(target)
        except AssertionError as error:
            raise AssertionError(f"{error}; the application said:\n{log.read_text()[-4000:]}") from error
        counts: dict[str, list[int]] = {}
        for message in found:
            key, value = message.key(), message.value()
            assert key is not None
            assert value is not None
            counts.setdefault(key.decode(), []).append(int.from_bytes(value, "big"))
        assert counts == {f"word{number}": list(range(1, EACH + 1)) for number in range(WORDS)}

        files, root = filesystem(location, server.properties)
        parts = {info.base_name for info in files.get_file_info(fs.FileSelector(root))}
        assert parts == {"spark", "millstream"}
        state = files.get_file_info(fs.FileSelector(f"{root}/millstream/state", recursive=True))
        assert any(info.base_name.endswith((".changes", ".merged")) for info in state)
    assert server.properties["spark.hadoop.fs.s3a.secret.key"] not in log.read_text()
