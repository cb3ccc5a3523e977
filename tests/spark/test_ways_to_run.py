"""An application is brought to a cluster: by spark-submit with a plain script, by `millstream run`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from millstream.kafka.detached import DetachedBroker

from . import submitted_app
from .cluster import Cluster, can_hide, left_below, standalone
from .crashes import started_with, wait_until

_SPARK = Path(pyspark.__file__).parent
#: A Python without anything of this environment's but what Spark itself brings to executors.
_BARE = """#!/bin/sh
PYTHONPATH={path} exec {python} -S "$@"
"""
_APP = """
from millstream import Consumed, Serdes, StreamsBuilder
builder = StreamsBuilder()
builder.stream("{topic}", Consumed(Serdes.string, Serdes.string)).foreach(print)
"""


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_spark_submit_with_a_plain_script_and_then_executors_without_millstream(
    broker: DetachedBroker,
    produce: Callable[..., None],
    make_topic: Callable[..., str],
    counts: Callable[..., dict[str, list[int]]],
    short_tempdir: Path,
    tmp_path: Path,
) -> None:
    with standalone(workers=1) as cluster:
        read, written = make_topic(2, name="words"), make_topic(2, name="counts")
        produce(read, [("a", "hello"), ("b", "world"), ("a", "hello")])
        shouting = tmp_path / "shouting.py"
        shouting.write_text("def shout(text):\n    return text.upper()\n")
        command = [str(_SPARK / "bin" / "spark-submit"), "--master", cluster.master, "--py-files", str(shouting)]
        command += [submitted_app.__file__, broker.bootstrap_servers, str(tmp_path / f"app-{uuid.uuid4().hex[:8]}")]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - Spark's own script
                [*command, read, written],
                env={**os.environ, "TMPDIR": str(short_tempdir), "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            assert counts(written, 3) == {"HELLO": [1, 2], "WORLD": [1]}
            assert cluster.workers[0].runs(), "lanes are on the cluster's machine"
        finally:
            _kill(process, short_tempdir)
        _wait_for_nothing(cluster, short_tempdir)
        _refused_without_millstream(cluster, broker, read, tmp_path)


def _kill(submitted: subprocess.Popen[bytes], temporary: Path) -> None:
    """Kill the JVM of spark-submit and the script, its child."""
    for process in started_with("TMPDIR", str(temporary)):
        is_script = process.parent == submitted.pid and submitted_app.__file__ in process.command
        if is_script or process.pid == submitted.pid:
            os.kill(process.pid, signal.SIGKILL)
    submitted.wait()


def _wait_for_nothing(cluster: Cluster, driver: Path) -> None:
    """Neither processes nor files are left on any machine, soon."""

    def left() -> list[object]:
        found: list[object] = [*started_with("TMPDIR", str(driver)), *left_below(driver)]
        for worker in cluster.workers:
            found += [*worker.processes(), *worker.runs()]
        return found

    try:
        wait_until(lambda: not left(), "nothing to be left", 15)
    except AssertionError:
        raise AssertionError(f"left: {left()}") from None


def _refused_without_millstream(cluster: Cluster, broker: DetachedBroker, topic: str, tmp_path: Path) -> None:
    bare, app = tmp_path / "python", tmp_path / "app.py"
    path = os.pathsep.join(map(str, (_SPARK / "python" / "lib").glob("*.zip")))
    bare.write_text(_BARE.format(path=path, python=sys.executable))
    bare.chmod(0o755)
    app.write_text(_APP.format(topic=topic))
    command = [sys.executable, "-m", "millstream.cli", "run", str(app), "--master", cluster.master]
    command += ["--spark", f"spark.pyspark.python={bare}", "--checkpoint", str(tmp_path / "checkpoint")]
    command += ["--bootstrap-servers", broker.bootstrap_servers]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)  # noqa: S603
    assert ended.returncode == 1
    assert "Millstream is not installed on Spark's executors" in ended.stderr
