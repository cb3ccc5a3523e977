"""Whether sources and topics are, at the end, what a case expects."""

from __future__ import annotations

import re
from collections.abc import Collection

from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.conformance.case import Json
from millstream.sql.conformance.errors import NotExpected
from millstream.sql.engine.topics import Topics
from millstream.sql.formats.registry import SchemaRegistry
from millstream.sql.parser import parse_schema
from millstream.sql.schema.columns import Column, Namespace, Schema
from millstream.sql.schema.formats import Encoding, WindowInfo
from millstream.sql.tree.statements import Constraint


def check_post_conditions(
    post: Json, catalogue: Catalogue, topics: Topics, topic_names: Collection[str], registry: SchemaRegistry
) -> None:
    """Compare sources and topics.

    Raises:
        NotExpected: one is not as expected.
    """
    for expected in post.get("sources") or ():
        _check_source(expected, catalogue)
    wanted = post.get("topics") or {}
    if wanted.get("blacklist"):
        forbidden = re.compile(wanted["blacklist"])
        for name in topic_names:
            if forbidden.fullmatch(name):
                raise NotExpected(f"there should be no topic {name}")
    for expected in wanted.get("topics") or ():
        _check_topic(expected, catalogue, topics, registry)


def _check_source(expected: Json, catalogue: Catalogue) -> None:
    source = catalogue.get(expected["name"])
    if source is None:
        raise NotExpected(f"there is no source {expected['name']}")
    _same(source, "type", expected["type"].upper(), source.kind.value)
    if "schema" in expected:
        _same(source, "schema", str(_schema(expected["schema"])), str(source.schema))
    if "keyFormat" in expected:
        _check_key_format(source, expected["keyFormat"])
    if "valueFormat" in expected:
        _same(source, "value format", expected["valueFormat"], source.formats.value.format.name)
    if "keyFeatures" in expected:
        _same(source, "key features", sorted(expected["keyFeatures"]), _features(source.formats.key))
    if "valueFeatures" in expected:
        _same(source, "value features", sorted(expected["valueFeatures"]), _features(source.formats.value))
    if "isSource" in expected:
        _same(source, "isSource", expected["isSource"], source.read_only)


def _check_key_format(source: Source, expected: Json) -> None:
    window = source.window or WindowInfo(None)  # type: ignore[arg-type] # compares as no window
    _same(source, "key format", expected["format"], source.formats.key.format.name)
    _same(source, "window type", expected.get("windowType"), window.type.value if source.window else None)
    if "windowSize" in expected:
        _same(source, "window size", expected["windowSize"], window.size_ms)


def _check_topic(expected: Json, catalogue: Catalogue, topics: Topics, registry: SchemaRegistry) -> None:
    name = expected["name"]
    description = topics.describe(name)
    sources = [source for source in catalogue if source.topic == name]
    if description is None or not sources:
        raise NotExpected(f"there is no topic {name}")
    if "partitions" in expected:
        _same(name, "partitions", expected["partitions"], description.partitions)
    for part, is_key in (("key", True), ("value", False)):
        encoding = sources[0].formats.key if is_key else sources[0].formats.value
        wanted = expected.get(f"{part}Format")
        if wanted:
            _same(name, f"{part} format", wanted["format"], encoding.format.name)
            _same(name, f"{part} features", sorted(wanted.get("features") or ()), _features(encoding))
            _same(name, f"{part} properties", wanted.get("properties") or {}, dict(encoding.format.properties))
        if expected.get(f"{part}Schema") is not None:
            latest = registry.latest(f"{name}-{part}")
            _same(name, f"{part} schema", expected[f"{part}Schema"], None if latest is None else latest.parsed)


def _features(encoding: Encoding) -> list[str]:
    return sorted(feature.value for feature in encoding.features)


def _same(of: Source | str, what: str, expected: object, actual: object) -> None:
    if expected != actual:
        name = of if isinstance(of, str) else of.name
        raise NotExpected(f"{what} of {name}: expected {expected}, got {actual}")


def _schema(text: str) -> Schema:
    columns = []
    for element in parse_schema(text):
        keyed = element.constraint in (Constraint.KEY, Constraint.PRIMARY_KEY)
        header = element.constraint in (Constraint.HEADER, Constraint.HEADERS)
        namespace = Namespace.KEY if keyed else Namespace.HEADERS if header else Namespace.VALUE
        columns.append(Column(element.name, element.type, namespace, element.header))
    return Schema(tuple(columns))
