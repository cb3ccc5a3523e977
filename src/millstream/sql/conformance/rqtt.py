"""Runs the server's cases: statements, then inputs, then pull and push queries, whose answers are compared."""

from __future__ import annotations

from typing import Any

from millstream.sql.conformance import qtt
from millstream.sql.conformance.answers import check_answer
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.errors import NotExpected, check_error
from millstream.sql.conformance.outputs import check_outputs
from millstream.sql.conformance.world import World
from millstream.sql.engine.answers.entities import Entity, QueryAnswer
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
        for text in statements("\n".join(text for text in case.statements if not _is_query(text))):
            entities += world.engine.execute_one(text)
        for record in qtt.inputs(case, world):
            world.topics.write(record)
        for query in filter(_is_query, case.statements):  # each is a request of its own
            entities += world.engine.execute(query)
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


def _is_query(text: str) -> bool:
    return text.lstrip().upper().startswith("SELECT")


def _check_responses(case: Case, entities: list[Entity]) -> None:
    _check_admin(case, [entity for entity in entities if not isinstance(entity, QueryAnswer)])
    if any("queryProto" in response for response in case.responses):
        raise NotExpected("answers in protobuf are not written")
    answers = [entity for entity in entities if isinstance(entity, QueryAnswer)]
    expected = [response["query"] for response in case.responses if "query" in response]
    if len(expected) != len(answers):
        raise NotExpected(f"expected {len(expected)} answers, got {len(answers)}")
    for number, (answer, response) in enumerate(zip(answers, expected, strict=True)):
        check_answer(answer, response, f"answer {number}", verify_order=case.verify_order)


def _check_admin(case: Case, entities: list[Entity]) -> None:
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
