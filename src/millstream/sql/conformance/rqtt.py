"""Runs the server's cases that need no pull or push query."""

from __future__ import annotations

from typing import Any

from millstream.sql.conformance import qtt
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.errors import NotExpected, check_error
from millstream.sql.conformance.outputs import check_outputs
from millstream.sql.conformance.world import World
from millstream.sql.engine.answers.entities import Entity
from millstream.sql.engine.runners.driver_queries import DriverQueries
from millstream.sql.parser import statements


def run_rqtt(case: Case) -> None:
    """Run a case.

    Raises:
        NotExpected: it went otherwise than it should.
    """
    world = World(case, DriverQueries)
    entities: list[Entity] = []
    try:
        for text in statements("\n".join(case.statements)):
            entities += world.engine.execute_one(text)
        for record in qtt.inputs(case, world):
            world.topics.write(record)
    except NotExpected:
        raise
    except Exception as error:  # whatever it is, it is the case's result
        check_error(error, case.expected_exception)
        return
    finally:
        world.close()
    if case.expected_exception is not None:
        raise NotExpected(f"should have failed: {case.expected_exception.get('message')}")
    check_outputs(
        case,
        lambda topic: world.topics.read(topic, from_beginning=True),
        lambda record: qtt.decode(world, record),
    )
    _check_responses(case, entities)


def _check_responses(case: Case, entities: list[Entity]) -> None:
    expected = [response["admin"] for response in case.responses if "admin" in response]
    if not expected:
        return
    if len(expected) != len(entities):
        raise NotExpected(f"expected {len(expected)} responses, got {len(entities)}")
    for number, (entity, response) in enumerate(zip(entities, expected, strict=True)):
        if not _contains(entity.to_json(), response, case):
            raise NotExpected(f"response {number}: expected {response}, got {entity.to_json()}")


def _contains(actual: Any, expected: Json, case: Case) -> bool:
    """Whether all that is expected is there; other fields do not count."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            plain, _, how = name.partition("|")
            found = actual.get(plain) if isinstance(actual, dict) else None
            if how == "starts_with":
                if not str(found).startswith(value):
                    return False
            elif value == "{STATEMENT}":
                if found not in case.statements:
                    return False
            elif not _contains(found, value, case):
                return False
        return True
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(_contains(mine, theirs, case) for mine, theirs in zip(actual, expected, strict=True))
        )
    return bool(actual == expected)
