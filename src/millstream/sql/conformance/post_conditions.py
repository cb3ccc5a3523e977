"""Whether sources and topics are, at the end, what a case expects."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.serdes.windowed import WindowedSerde
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.conformance.case import Json
from millstream.sql.conformance.errors import NotExpected
from millstream.sql.conformance.world import World
from millstream.sql.engine.queries import PersistentQuery
from millstream.sql.engine.statements.create import schema_of
from millstream.sql.formats import RowSerde
from millstream.sql.parser import parse_schema
from millstream.sql.schema.formats import Encoding
from millstream.state import StoreBuilder
from millstream.topology.nodes import SinkNode


def check_post_conditions(
    world: World, post: Json, queries: Iterable[PersistentQuery], produced: Iterable[str]
) -> None:
    """Compare sources and topics.

    Args:
        world: where the case ran.
        post: what is expected.
        queries: those that ran.
        produced: the topics they wrote to, internal ones included.

    Raises:
        NotExpected: one is not as expected.
    """
    catalogue = world.engine.context.catalogue
    for expected in post.get("sources") or ():
        _check_source(expected, catalogue)
    wanted = post.get("topics") or {}
    names = {*produced, *world.topics.names()}
    if wanted.get("blacklist"):
        forbidden = re.compile(wanted["blacklist"])
        for name in names:
            if forbidden.fullmatch(name):
                raise NotExpected(f"there should be no topic {name}")
    for expected in wanted.get("topics") or ():
        if expected["name"] not in names:
            raise NotExpected(f"there is no topic {expected['name']}")
        _check_topic(expected, world, queries)


def _check_source(expected: Json, catalogue: Catalogue) -> None:
    source = catalogue.get(expected["name"])
    if source is None:
        raise NotExpected(f"there is no source {expected['name']}")
    _same(source, "type", expected["type"].upper(), source.kind.value)
    if "schema" in expected:
        _same(source, "schema", str(schema_of(parse_schema(expected["schema"]))), str(source.schema))
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
    window = source.window
    _same(source, "key format", expected["format"], source.formats.key.format.name)
    _same(source, "window type", expected.get("windowType"), None if window is None else window.type.value)
    if "windowSize" in expected:
        _same(source, "window size", expected["windowSize"], None if window is None else window.size_ms)


def _check_topic(expected: Json, world: World, queries: Iterable[PersistentQuery]) -> None:
    name = expected["name"]
    if "partitions" in expected:
        description = world.topics.describe(name)
        _same(name, "partitions", expected["partitions"], description and description.partitions)
    key, value = _encodings(name, world.engine.context.catalogue, queries)
    for part, encoding in (("key", key), ("value", value)):
        wanted = expected.get(f"{part}Format")
        if wanted and encoding is not None:
            _same(name, f"{part} format", wanted["format"], encoding.format.name)
            _same(name, f"{part} features", sorted(wanted.get("features") or ()), _features(encoding))
            _same(name, f"{part} properties", wanted.get("properties") or {}, dict(encoding.format.properties))
        if expected.get(f"{part}Schema") is not None:
            latest = world.registry.latest(f"{name}-{part}")
            _same(name, f"{part} schema", expected[f"{part}Schema"], None if latest is None else latest.parsed)


def _encodings(
    name: str, catalogue: Catalogue, queries: Iterable[PersistentQuery]
) -> tuple[Encoding | None, Encoding | None]:
    """How keys and values of a topic are encoded; None for rows that queries keep in a form of their own."""
    for source in catalogue:
        if source.topic == name:
            return source.formats.key, source.formats.value
    for query in queries:
        inner = name.removeprefix(f"{query.application_id}-")
        for node in query.topology.nodes.values():
            if isinstance(node, SinkNode) and node.topic == inner:
                return _encoding(node.key), _encoding(node.value)
        store = query.topology.stores.get(inner.removesuffix("-changelog"))
        if isinstance(store, StoreBuilder):
            return _encoding(store.key), _encoding(store.value)
    raise NotExpected(f"nothing is known of the topic {name}")


def _encoding(serde: object) -> Encoding | None:
    if isinstance(serde, WindowedSerde):
        serde = serde.inner
    return serde.encoding if isinstance(serde, RowSerde) else None


def _features(encoding: Encoding) -> list[str]:
    return sorted(feature.value for feature in encoding.features)


def _same(of: Source | str, what: str, expected: object, actual: object) -> None:
    if expected != actual:
        name = of if isinstance(of, str) else of.name
        raise NotExpected(f"{what} of {name}: expected {expected}, got {actual}")
