"""Runs a case in the test driver and gathers what came of it, in the terms of the case format."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from millstream import LogAndContinueProcessingExceptionHandler, Serdes, StreamsConfig
from millstream.testing import TopologyTestDriver
from millstream.testing.conformance.actual import Actual, Failure
from millstream.testing.conformance.build import build
from millstream.testing.conformance.case import Case, Json
from millstream.testing.conformance.contents import store_rows
from millstream.testing.conformance.operators.handles import Scope
from millstream.testing.conformance.operators.types import read_as


def run(case: Case) -> Actual:
    """Run a case. Whatever the engine raises is part of the result."""
    actual = Actual()
    with contextlib.ExitStack() as stack:
        try:
            config = _config(case)
            topology, scope = build(case, config)
            start = case.config["wall_clock_start_ms"]
            driver = TopologyTestDriver(topology, config, wall_clock_start=start)
            stack.callback(_close, driver)
            actual.describe = str(topology.describe())
        except Exception as error:  # whatever it is, it is this case's result
            actual.failure = Failure(error)
            return actual
        _run_steps(case, driver, scope, actual)
        actual.internal_topics = sorted(driver.internal_topics)
        if actual.failure is None:
            actual.stores = store_rows(case, driver.stores)
            actual.store_names = sorted(driver.stores)
            actual.dropped_records_total = driver.dropped_records_total
    return actual


def _config(case: Case) -> StreamsConfig:
    options: dict[str, Any] = {}
    if case.config.get("processing_exception") == "continue":
        options["processing_exception_handler"] = LogAndContinueProcessingExceptionHandler()
    return StreamsConfig(
        application_id="app",
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.string,
        statestore_cache_max_bytes=case.config["cache_bytes"],
        topology_optimization=case.config["optimization"],
        dsl_store=case.config["store_type"],
        **options,
    )


def _run_steps(case: Case, driver: TopologyTestDriver, scope: Scope, actual: Actual) -> None:
    for number, step in enumerate(case.steps):
        try:
            if "pipe" in step:
                _pipe(driver, step["pipe"])
            else:
                driver.advance_wall_clock(timedelta(milliseconds=step["advance_wall_clock_ms"]))
        except Exception as error:  # whatever it is, it is this case's result
            actual.failure = Failure(error, number)
        actual.outputs.append(_outputs(driver, scope))
        if actual.failure is not None:
            return


def _pipe(driver: TopologyTestDriver, record: Json) -> None:
    headers = [(name, _bytes(value)) for name, value in record.get("headers", [])]
    driver.pipe(record["topic"], _bytes(record["key"]), _bytes(record["value"]), record["ts"], headers)


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _outputs(driver: TopologyTestDriver, scope: Scope) -> list[Json]:
    """What was sent to the case's own topics since the last call."""
    internal = driver.internal_topics
    outputs = []
    for sent in driver.take_outputs():
        if sent.topic in internal:
            continue
        types = scope.written_to(sent.topic)
        output = {
            "topic": sent.topic,
            "key": read_as([key for key, _ in types], sent.key),
            "value": read_as([value for _, value in types], sent.value),
            "ts": sent.timestamp,
        }
        if headers := list(sent.headers or ()):
            output["headers"] = [[name, None if value is None else value.decode()] for name, value in headers]
        outputs.append(output)
    return outputs


def _close(driver: TopologyTestDriver) -> None:
    # After a failed step the driver may not close cleanly; the failure itself is already noted.
    with contextlib.suppress(Exception):
        driver.close()
