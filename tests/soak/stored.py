"""An application with its checkpoint on a store, which is killed and goes on there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Message

from . import stored_app

WORDS, EACH = 20, 60
PATIENCE_SECONDS = 300.0

Produce = Callable[..., None]
Consume = Callable[..., list[Message]]


@contextmanager
def running(
    arguments: list[str], properties: Mapping[str, str], log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The application; killed with its JVM in the end."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, stored_app.__file__, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **environment, "STORE_PROPERTIES": json.dumps(properties)},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def kill_and_go_on(
    arguments: list[str],
    log: Path,
    produce: Produce,
    consume: Consume,
    *,
    properties: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Run it, kill it and run it again: every count must be there once.

    Args:
        arguments: of the application.
        log: what it says.
        produce: to a topic.
        consume: all of a topic, as soon as there is so much.
        properties: of Spark.
        environment: for its processes.
        meanwhile: done while it runs for the first time.
    """
    _, source, target, *_ = arguments
    properties, environment = properties or {}, environment or {}
    records = [(str(number), f"word{number % WORDS}") for number in range(WORDS * EACH)]
    half = len(records) // 2
    produce(source, records[:half])
    try:
        with running(arguments, properties, log, environment):
            consume(target, half // 2, PATIENCE_SECONDS)
            meanwhile()
        produce(source, records[half:])
        with running(arguments, properties, log, environment):
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
