"""A small world of sources, and plans of statements over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import pytest

from millstream.sql.analysis import PlannedQuery, SinkRequest, plan_query, prepare_query
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.formats import key_features
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.parser import parse
from millstream.sql.plan.steps import Step
from millstream.sql.schema.columns import Column, Namespace, Schema
from millstream.sql.schema.formats import Encoding, FormatInfo, Formats, WindowInfo, WindowType
from millstream.sql.schema.types import BIGINT, BYTES, INTEGER, STRING, Field, SqlArray, SqlMap, SqlStruct, SqlType
from millstream.sql.settings import Settings
from millstream.sql.tree.statements import CreateAsSelect, InsertInto, SelectQuery, SourceKind

_S = TypeVar("_S", bound=Step)
_Columns = Mapping[str, SqlType]


class World:
    """Streams and tables, all with KAFKA keys and JSON values unless said otherwise."""

    def __init__(self, functions: Registry) -> None:
        self.catalogue = Catalogue()
        self.settings = Settings()
        self.partitions: dict[str, int] = {}
        self._functions = functions

    def stream(self, name: str, keys: _Columns, values: _Columns, **how: Any) -> None:
        self._add(SourceKind.STREAM, name, keys, values, **how)

    def table(self, name: str, keys: _Columns, values: _Columns, **how: Any) -> None:
        self._add(SourceKind.TABLE, name, keys, values, **how)

    def _add(
        self,
        kind: SourceKind,
        name: str,
        keys: _Columns,
        values: _Columns,
        *,
        key_format: str = "KAFKA",
        value_format: str = "JSON",
        window: WindowInfo | None = None,
        **more: Any,
    ) -> None:
        key = Encoding(FormatInfo(key_format), key_features(key_format, single=len(keys) == 1))
        formats = Formats(key, Encoding(FormatInfo(value_format)))
        schema = Schema.of(keys.items(), values.items())
        self.catalogue.sources[name] = Source(kind, name, schema, name.lower(), formats, window, **more)

    def plan(self, text: str, **sink: Any) -> PlannedQuery:
        """The plan of CREATE .. AS, INSERT INTO or SELECT; `sink` says what WITH would."""
        statement = parse(text)[0].statement
        request = None
        if isinstance(statement, CreateAsSelect):
            request = SinkRequest(statement.name, statement.kind, **sink)
        elif isinstance(statement, InsertInto):
            request = SinkRequest(statement.target, None, at=statement.at, **sink)
        else:
            assert isinstance(statement, SelectQuery)
        return plan_query(
            prepare_query(statement.query, self.catalogue, self.settings),
            sink=request,
            catalogue=self.catalogue,
            functions=self._functions,
            config=self.settings,
            query_id="Q_0",
            partitions=lambda topic: self.partitions.get(topic, 1),
        )

    def steps(self, text: str, **sink: Any) -> list[Step]:
        """All steps of a statement, the last first."""
        found = []
        left = [self.plan(text, **sink).plan.step]
        while left:
            step = left.pop()
            found.append(step)
            left += [getattr(step, name) for name in ("right", "left", "source") if hasattr(step, name)]
        return found

    def step(self, kind: type[_S], text: str, **sink: Any) -> _S:
        """The one step of a kind."""
        (found,) = [step for step in self.steps(text, **sink) if isinstance(step, kind)]
        return found

    def columns(self, text: str, **sink: Any) -> str:
        """The columns of the result."""
        return str(self.plan(text, **sink).schema).replace("`", "")


@pytest.fixture(scope="session")
def functions() -> Registry:
    return default_registry()


@pytest.fixture
def world(functions: Registry) -> World:
    """Orders and clicks, customers and regions, and visits in windows."""
    world = World(functions)
    struct = SqlStruct((Field("STREET", STRING), Field("ZIP", INTEGER)))
    world.stream(
        "ORDERS", {"ID": BIGINT}, {"CUSTOMER": BIGINT, "AMOUNT": INTEGER, "ITEMS": SqlArray(STRING), "ADDRESS": struct}
    )
    world.stream("CLICKS", {"ID": BIGINT}, {"PAGE": STRING, "AMOUNT": INTEGER})
    world.stream("PLAIN", {}, {"A": INTEGER, "M": SqlMap(STRING, INTEGER)}, key_format="NONE")
    world.table("CUSTOMERS", {"ID": BIGINT}, {"NAME": STRING, "REGION": INTEGER})
    world.table("REGIONS", {"RID": INTEGER}, {"TITLE": STRING})
    world.table("PAIRS", {"K1": INTEGER, "K2": STRING}, {"V": INTEGER}, key_format="JSON")
    tumbling = WindowInfo(WindowType.TUMBLING, 1000)
    world.stream("VISITS", {"ID": BIGINT}, {"N": INTEGER}, window=tumbling)
    world.stream("STAYS", {"ID": BIGINT}, {"N": INTEGER}, window=WindowInfo(WindowType.SESSION))
    world.table("COUNTS", {"ID": BIGINT}, {"N": INTEGER}, window=tumbling)
    header = Column("H", BYTES, Namespace.HEADERS, "h")
    world.stream("HEADED", {"ID": BIGINT}, {"A": INTEGER})
    headed = world.catalogue.sources["HEADED"]
    world.catalogue.sources["HEADED"] = Source(
        headed.kind, headed.name, Schema((*headed.schema.columns, header)), headed.topic, headed.formats
    )
    return world
