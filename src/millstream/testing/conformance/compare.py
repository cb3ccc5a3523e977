"""Compares what Millstream did with what a case expects; every difference is one line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from millstream.testing.conformance.actual import Actual, Failure
from millstream.testing.conformance.case import Case, Json
from millstream.testing.conformance.errors import one_line, root_cause, stands_for

_SETS = re.compile(r"(stores|topics): \[([^\]]*)\]")


def differences(case: Case, actual: Actual) -> list[str]:
    """What differs, most telling first; empty when the case passes."""
    return list(_differences(case, actual))


def _differences(case: Case, actual: Actual) -> Iterator[str]:
    expected = case.expected
    yield from _errors(expected["error"], actual.failure)
    yield from _outputs(case, actual)
    if "stores" in expected and actual.failure is None:
        yield from _stores(expected["stores"], actual.stores)
        if expected["dropped_records_total"] != actual.dropped_records_total:
            yield (
                f"dropped_records_total: expected {expected['dropped_records_total']}, "
                f"got {actual.dropped_records_total}"
            )
        yield from _names("store_names", expected["store_names"], actual.store_names)
    if "internal_topics" in expected and _reached_the_end(expected["error"], actual.failure):
        yield from _names("internal_topics", expected["internal_topics"], actual.internal_topics)
    if expected["describe"] is not None and actual.describe is not None:
        yield from _describe(expected["describe"], actual.describe)


def _errors(expected: Json | None, failure: Failure | None) -> Iterator[str]:
    if expected is None:
        if failure is not None:
            yield f"error: expected none, got {_where(failure)}: {one_line(failure.error)}"
        return
    wanted = f"{_short(expected['class'])} in {expected['phase']}"
    if "step" in expected:
        wanted += f" at step {expected['step']}"
    if failure is None:
        yield f"error: expected {wanted}, got none"
    elif (failure.phase, failure.step) != (expected["phase"], expected.get("step")):
        yield f"error: expected {wanted}, got {_where(failure)}: {one_line(failure.error)}"
    elif not stands_for(failure.error, expected["class"]):
        yield f"error: expected {wanted}, got {one_line(failure.error)}"
    elif not stands_for(root_cause(failure.error), expected["root_class"]):
        yield f"error: expected the root cause {_short(expected['root_class'])}, got {one_line(failure.error)}"


def _where(failure: Failure) -> str:
    return "in build" if failure.step is None else f"at step {failure.step}"


def _short(java_class: str) -> str:
    return java_class.rpartition(".")[2]


def _reached_the_end(expected: Json | None, failure: Failure | None) -> bool:
    """Whether both sides ran through the same steps, so that what they left behind can be compared."""
    return (expected or {}).get("step") == (failure.step if failure else None)


def _outputs(case: Case, actual: Actual) -> Iterator[str]:
    """The first step that differs, and how many do."""
    expected: list[list[Json]] = case.expected["outputs"]
    steps: list[tuple[list[Json], list[Json]]] = list(zip_longest(expected, actual.outputs, fillvalue=[]))
    wrong = [number for number, (want, have) in enumerate(steps) if want != have]
    if wrong:
        first = wrong[0]
        more = f" ({len(wrong)} of {len(case.steps)} steps differ)" if len(wrong) > 1 else ""
        yield f"outputs: step {first} [{_step(case.steps[first])}], {_records(*steps[first])}{more}"


def _records(expected: list[Json], got: list[Json]) -> str:
    if Counter(map(_record, expected)) == Counter(map(_record, got)):
        return f"order: expected {_list(expected)}, got {_list(got)}"
    for number, (want, have) in enumerate(zip_longest(expected, got)):
        if want != have:
            return (
                f"record {number}: expected {_record(want) if want else 'nothing'}, "
                f"got {_record(have) if have else 'nothing'}"
            )
    return "the same"  # not reached: the lists differ


def _list(records: list[Json]) -> str:
    return "[" + ", ".join(map(_record, records)) + "]"


def _record(record: Json) -> str:
    """`topic key=value@timestamp`, headers after it."""
    shown = f"{record['topic']} {_text(record['key'])}={_text(record['value'])}@{record['ts']}"
    return f"{shown} {_text(record['headers'])}" if "headers" in record else shown


def _text(x: Any) -> str:
    if isinstance(x, dict) and "start" in x:
        return f"{x['key']}[{x['start']}/{x['end']}]"
    return json.dumps(x)


def _step(step: Json) -> str:
    if "pipe" not in step:
        return f"wall clock +{step['advance_wall_clock_ms']}"
    pipe = step["pipe"]
    return f"{pipe['topic']} {_text(pipe['key'])}={_text(pipe['value'])}@{pipe['ts']}"


def _stores(expected: dict[str, list[Any]], actual: dict[str, list[Any]]) -> Iterator[str]:
    for name, rows in expected.items():
        if name not in actual:
            yield f"stores: there is no store '{name}'"
        elif rows != actual[name]:
            missing = [row for row in rows if row not in actual[name]]
            surplus = [row for row in actual[name] if row not in rows]
            yield f"stores: '{name}' expected {json.dumps(missing)}, got {json.dumps(surplus, default=repr)}"


def _names(what: str, expected: list[str], actual: list[str]) -> Iterator[str]:
    missing, surplus = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
    if missing or surplus:
        yield f"{what}: missing {missing}, not expected {surplus}"


def _describe(expected: str, actual: str) -> Iterator[str]:
    """The first line that differs; the lists of stores and topics are sets."""
    lines = zip_longest(_sorted_sets(expected).split("\n"), _sorted_sets(actual).split("\n"))
    for number, (want, have) in enumerate(lines, start=1):
        if want != have:
            yield f"describe: line {number}: expected {_line(want)}, got {_line(have)}"
            return


def _line(line: str | None) -> str:
    return "nothing" if line is None else f"'{line.strip()}'"


def _sorted_sets(description: str) -> str:
    return _SETS.sub(lambda found: f"{found[1]}: [{', '.join(sorted(found[2].split(', ')))}]", description)
