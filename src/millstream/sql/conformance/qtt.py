"""Runs the cases of topologies: statements first, then query by query."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator

from millstream.sql.catalogue import Source
from millstream.sql.conformance import records
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.errors import NotExpected, check_error
from millstream.sql.conformance.outputs import check_outputs
from millstream.sql.conformance.post_conditions import check_post_conditions
from millstream.sql.conformance.world import HeldQueries, World
from millstream.sql.engine.queries import PersistentQuery
from millstream.sql.engine.runners.driver_queries import test_driver
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.parser import statements
from millstream.sql.processing_log import PythonLog
from millstream.testing import TopologyTestDriver


def run_qtt(case: Case) -> None:
    """Run a case.

    Raises:
        NotExpected: it went otherwise than it should.
    """
    runner = HeldQueries()
    world = World(case, lambda topics: runner)
    if not execute_statements(case, world):
        return
    produced: set[str] = set()
    try:
        _write_inputs(case, world)
        for query in runner.queries.values():
            produced |= _run(case, world, query)
    except NotExpected:
        raise
    except Exception as error:  # whatever it is, it is the case's result
        check_error(error, case.expected_exception)
        return
    if case.expected_exception is not None:
        raise NotExpected(f"should have failed: {case.expected_exception.get('message')}")
    if not runner.queries:
        raise NotExpected("the case has no query")
    check_outputs(
        case, lambda topic: world.topics.read(topic, from_beginning=True), lambda record: decode(world, record)
    )
    if case.post is not None:
        check_post_conditions(world, case.post, runner.queries.values(), produced)


def execute_statements(case: Case, world: World) -> bool:
    """Execute all statements; False when the last one failed as it should.

    Raises:
        NotExpected: another one failed, or in another way.
    """
    texts: list[str] = []
    try:
        texts = list(statements("\n".join(case.statements)))
    except Exception as error:  # whatever it is, it is the case's result
        check_error(error, case.expected_exception)
        return False
    for number, text in enumerate(texts):
        try:
            world.engine.execute_one(text)
        except Exception as error:  # whatever it is, it is the case's result
            if case.expected_exception is not None and number + 1 < len(texts):
                raise NotExpected(f"statement {number + 1} of {len(texts)} failed already: {error!r}") from error
            check_error(error, case.expected_exception)
            return False
    if case.expected_exception is not None and not case.inputs:
        raise NotExpected(f"should have failed: {case.expected_exception.get('message')}")
    return True


def _write_inputs(case: Case, world: World) -> None:
    for record in inputs(case, world):
        world.topics.write(record)


def inputs(case: Case, world: World) -> Iterator[TopicRecord]:
    """The inputs of a case, serialised."""
    for given in case.inputs:
        source = _source(world, given["topic"])
        key, value = records.encode(given, source, world.registry)
        headers = tuple((header["KEY"], _bytes(header["VALUE"])) for header in given.get("headers") or ())
        yield TopicRecord(given["topic"], key, value, given.get("timestamp") or 0, headers)


def _run(case: Case, world: World, query: PersistentQuery) -> set[str]:
    """Give a query all inputs of its topics, or what earlier queries wrote; the topics it wrote to."""
    catalogue = world.engine.context.catalogue
    reads = [source.topic for name in query.sources if (source := catalogue.get(name)) is not None]
    given = {record["topic"] for record in case.inputs}
    with contextlib.ExitStack() as stack:
        running = test_driver(query, PythonLog())
        stack.callback(_close, running)
        piped = [record for record in inputs(case, world) if record.topic in reads]
        for topic in dict.fromkeys(reads):
            if topic not in given:
                piped += world.topics.read(topic, from_beginning=True)
        for record in piped:
            running.pipe(record.topic, record.key, record.value, record.timestamp, list(record.headers))
            for sent in running.take_outputs():
                if sent.topic == query.sink_topic:
                    headers = tuple((name, value) for name, value in sent.headers or ())
                    world.topics.write(TopicRecord(sent.topic, sent.key, sent.value, sent.timestamp, headers))
        return set(running.produced_topic_names) | set(running.internal_topics)


def decode(world: World, record: TopicRecord) -> tuple[object, object]:
    """What a record holds."""
    return records.decode(record, _source(world, record.topic), world.registry)


def _source(world: World, topic: str) -> Source:
    for source in world.engine.context.catalogue:
        if source.topic == topic:
            return source
    raise NotExpected(f"no source has the topic {topic}")


def _bytes(text: Json) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _close(running: TopologyTestDriver) -> None:
    # After a failed record the driver may not close cleanly; the failure itself is the result.
    with contextlib.suppress(Exception):
        running.close()
