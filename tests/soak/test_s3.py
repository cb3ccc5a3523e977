"""The whole checkpoint on S3: an application is killed and goes on there, and every result is there exactly once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import fs
from tests.s3_server import S3Server

from millstream.kafka.detached import DetachedBroker
from millstream.spark.state.storage import filesystem

from .stored import Consume, Produce, kill_and_go_on


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
    produce: Produce,
    consume: Consume,
    tmp_path: Path,
) -> None:
    source, target = make_topic(2, name="words"), make_topic(2, name="counts")
    log = tmp_path / "app.log"
    with S3Server() as server:
        location = f"{scheme}://{server.new_bucket()}/apps/words"
        secret = server.properties["spark.hadoop.fs.s3a.secret.key"]

        def keys_are_hidden() -> None:
            assert secret not in command_lines()

        arguments = [broker.bootstrap_servers, source, target, location, str(tmp_path / "state")]
        kill_and_go_on(arguments, log, produce, consume, properties=server.properties, meanwhile=keys_are_hidden)
        files, root = filesystem(location, server.properties)
        parts = {info.base_name for info in files.get_file_info(fs.FileSelector(root))}
        assert parts == {"spark", "millstream"}
        state = files.get_file_info(fs.FileSelector(f"{root}/millstream/state", recursive=True))
        assert any(info.base_name.endswith((".changes", ".merged")) for info in state)
    assert secret not in log.read_text()
