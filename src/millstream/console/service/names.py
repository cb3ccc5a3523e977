"""The names that statements can use, and what hangs on a name."""

from __future__ import annotations

from typing import Any

from millstream.sql.catalogue import Source
from millstream.sql.engine.context import Context
from millstream.sql.schema.columns import Namespace
from millstream.sql.tree.statements import SourceKind


def sources_json(context: Context) -> list[dict[str, Any]]:
    """Streams and tables with their columns, and whether a table's rows can be looked up."""
    return [_source(context, source) for source in sorted(context.catalogue, key=lambda source: source.name)]


def _source(context: Context, source: Source) -> dict[str, Any]:
    made_by = context.queries.creating(source.name)
    return {
        "name": source.name,
        "kind": source.kind.value,
        "topic": source.topic,
        "keyFormat": source.formats.key.format.name,
        "valueFormat": source.formats.value.format.name,
        "window": None if source.window is None else source.window.type.value,
        "columns": [
            {"name": column.name, "type": str(column.type), "key": column.namespace is Namespace.KEY}
            for column in source.schema.columns
        ],
        "query": None if made_by is None else made_by.id,
        "asked": source.kind is SourceKind.TABLE and made_by is not None and made_by.kept is not None,
    }


def dependents_json(context: Context, name: str) -> dict[str, Any]:
    """What a stream, table or query is used by: what would be in the way of dropping it, or end with it."""
    query = context.queries.get(name)
    if query is not None:
        sink = None if query.sink is None else context.catalogue.get(query.sink)
        return {
            "name": query.id,
            "kind": "QUERY",
            "reads": list(query.sources),
            "writes": query.sink,
            "queries": [] if sink is None else [other.id for other in context.queries.reading(sink.name)],
            "derived": [] if sink is None else context.catalogue.derived_from(sink.name),
        }
    source = context.catalogue.get(name) or context.catalogue.get(name.upper())
    if source is None:
        return {"name": name, "kind": None, "queries": [], "derived": [], "writes": None, "reads": []}
    made_by = context.queries.creating(source.name)
    return {
        "name": source.name,
        "kind": source.kind.value,
        "topic": source.topic,
        "ends": None if made_by is None else made_by.id,
        "queries": [query.id for query in context.queries.reading(source.name)],
        "writers": [query.id for query in context.queries.writing(source.name)],
        "derived": context.catalogue.derived_from(source.name),
        "sharing": [other for other in context.catalogue.sharing_topic(source.topic) if other != source.name],
    }
