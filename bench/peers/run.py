"""Kafka Streams, run as a process of its own on a broker that is there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from millstream.jvm.java import find_java

BENCH = Path(__file__).parents[1]
sys.path.append(str(BENCH))

from data import create_topics, delete_topics, probe_latency  # noqa: E402
from footprint import Footprint  # noqa: E402

from peers.build import MAIN_CLASS, OUT, build  # noqa: E402

AT_LEAST_ONCE = "at_least_once"
EXACTLY_ONCE = "exactly_once_v2"
GUARANTEES = (AT_LEAST_ONCE, EXACTLY_ONCE)

JAVA_OPTIONS = ("-Xms2g", "-Xmx2g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
#: Stores in memory instead of RocksDB, on request.
IN_MEMORY = {
    "dsl.store.suppliers.class": "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
}


class PeerError(Exception):
    """Kafka Streams did not do its job."""


def run_kafka_streams(
    bootstrap: str,
    workload: str,
    guarantee: str,
    input_topic: str,
    records: int,
    *,
    output_topic: str | None = None,
    commit_interval_ms: int | None = None,
    threads: int = 2,
    properties: Mapping[str, str] | None = None,
    timeout: float = 900,
) -> dict[str, Any]:
    """Let Kafka Streams process a topic from its beginning, as a new application, and say how fast it was.

    Args:
        bootstrap: the broker's address.
        workload: one of `peers.inputs.WORKLOADS`.
        guarantee: one of `GUARANTEES`.
        input_topic: where the data is; two topics with a comma between them for a join.
        records: how many there are.
        output_topic: an empty topic to write to, which is kept; by default a new one, which is deleted.
        commit_interval_ms: Kafka Streams' default for the guarantee unless given.
        threads: stream threads.
        properties: more settings for Kafka Streams.
        timeout: seconds after which it has failed.

    Returns:
        What it printed. `seconds` is the time from the first record processed to everything committed,
        `seconds_from_start` that from the start of Kafka Streams in a running JVM, and `first_result_seconds` the
        time from there to the first result a read_committed consumer could see; `..._from_launch` counts from the
        start of the process. `cpu_seconds` is what the JVM took of all cores from the start of Kafka Streams on, and
        `taken` what the process took from its launch on (`footprint.Taken`).
    """
    settings = dict(properties or {})
    if workload == "sum-uncached":
        settings["statestore.cache.max.bytes"] = "0"
    if commit_interval_ms is not None:
        settings["commit.interval.ms"] = str(commit_interval_ms)
    with _application(bootstrap, workload, output_topic) as (application, output, state):
        command = _command(application, bootstrap, workload, guarantee, input_topic, output, state, threads, settings)
        command += ["--records", str(records), "--launched-at-ms", str(int(time.time() * 1000))]
        log = _log()
        try:
            with (
                log.open("w") as errors,
                subprocess.Popen(  # noqa: S603 - java was found and the rest is ours
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
                ) as process,
            ):
                footprint = Footprint(process.pid)
                footprint.start()
                try:
                    printed = process.communicate(timeout=timeout)[0]
                finally:
                    process.kill()
        except subprocess.TimeoutExpired:
            raise PeerError(f"{workload}, {guarantee}: not done after {timeout:.0f} seconds\n{_tail(log)}") from None
        if process.returncode != 0:
            raise PeerError(f"{workload}, {guarantee}: exit code {process.returncode}\n{_tail(log)}")
        result: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return {**result, "taken": footprint.finish()}


def run_kafka_streams_latency(
    bootstrap: str,
    guarantee: str = EXACTLY_ONCE,
    *,
    rate: int = 200,
    seconds: float = 30,
    warmup: float = 10,
    commit_interval_ms: int | None = None,
    threads: int = 2,
    properties: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Let Kafka Streams count per key, and measure its latency with `data.probe_latency`."""
    settings = dict(properties or {})
    if commit_interval_ms is not None:
        settings["commit.interval.ms"] = str(commit_interval_ms)
    with _application(bootstrap, "latency", None) as (application, output, state):
        input_topic = f"{application}-input"
        create_topics(bootstrap, input_topic)
        command = _command(application, bootstrap, "latency", guarantee, input_topic, output, state, threads, settings)
        log = _log()
        with (
            log.open("w") as errors,
            subprocess.Popen(  # noqa: S603 - java was found and the rest is ours
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as process,
        ):
            try:
                if process.stdout is None or not process.stdout.readline():
                    raise PeerError(f"latency, {guarantee}: it did not start\n{_tail(log)}")
                result = probe_latency(bootstrap, input_topic, output, rate=rate, seconds=seconds, warmup=warmup)
                process.communicate(timeout=60)  # ends its input, which ends it
            finally:
                process.kill()
        if process.returncode != 0:
            raise PeerError(f"latency, {guarantee}: exit code {process.returncode}\n{_tail(log)}")
        return {"workload": "latency", "guarantee": guarantee, **result}


@contextmanager
def _application(bootstrap: str, workload: str, output_topic: str | None) -> Iterator[tuple[str, str, Path]]:
    """A new application's id, its output topic and its state directory. What it leaves is removed."""
    application = f"peer-{workload}-{time.time_ns()}"
    output = output_topic or f"{application}-output"
    OUT.mkdir(exist_ok=True)
    state = Path(tempfile.mkdtemp(prefix="peer-state-", dir=OUT))
    try:
        if output_topic is None:
            create_topics(bootstrap, output)
        yield application, output, state
    finally:
        shutil.rmtree(state, ignore_errors=True)
        delete_topics(bootstrap, prefix=f"{application}-")


def _command(
    application: str,
    bootstrap: str,
    workload: str,
    guarantee: str,
    input_topic: str,
    output: str,
    state: Path,
    threads: int,
    settings: Mapping[str, str],
) -> list[str]:
    command = [find_java(), *JAVA_OPTIONS, "-cp", build(), MAIN_CLASS, "--application-id", application]
    command += ["--bootstrap", bootstrap, "--workload", workload, "--guarantee", guarantee, "--input", input_topic]
    command += ["--output", output, "--state-dir", str(state), "--threads", str(threads)]
    for name, value in settings.items():
        command += ["--property", f"{name}={value}"]
    return command


def _log() -> Path:
    return OUT / "kafka-streams.log"


def _tail(log: Path, lines: int = 25) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
