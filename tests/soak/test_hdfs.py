"""The whole checkpoint on HDFS: an application is killed and goes on there, and every result is there exactly once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from millstream.kafka.detached import DetachedBroker

from .hdfs import Hdfs, libhdfs
from .stored import Consume, Produce, kill_and_go_on


def test_an_application_that_is_killed_goes_on(
    broker: DetachedBroker, make_topic: Callable[..., str], produce: Produce, consume: Consume, tmp_path: Path
) -> None:
    native = libhdfs()
    if native is None:
        pytest.skip("no libhdfs.so: set HADOOP_HOME to a Hadoop installation, or ARROW_LIBHDFS_DIR")
    source, target = make_topic(2, name="words"), make_topic(2, name="counts")
    with Hdfs(tmp_path) as hdfs:
        arguments = [broker.bootstrap_servers, source, target, f"{hdfs.url}/apps/words", str(tmp_path / "state")]
        kill_and_go_on(arguments, tmp_path / "app.log", produce, consume, environment=hdfs.environment(native))
