"""Columns from a schema registry, and schemas into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.sql.catalogue import Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.properties import WithClause
from millstream.sql.errors import SqlError
from millstream.sql.formats import format_of
from millstream.sql.schema.columns import Column, Schema
from millstream.sql.schema.formats import FormatInfo, Formats
from millstream.sql.tree.statements import Constraint, CreateSource, Element

_KEYS = (Constraint.KEY, Constraint.PRIMARY_KEY)
_HEADERS = (Constraint.HEADER, Constraint.HEADERS)


@dataclass(frozen=True)
class _Part:
    """The keys or the values of a source."""

    is_key: bool

    @property
    def name(self) -> str:
        return "KEY" if self.is_key else "VALUE"

    def owns(self, element: Element) -> bool:
        if self.is_key:
            return element.constraint in _KEYS
        return element.constraint not in _KEYS and element.constraint not in _HEADERS


_KEY, _VALUE = _Part(True), _Part(False)


def infer_elements(
    context: Context, statement: CreateSource, clause: WithClause
) -> tuple[tuple[Element, ...], WithClause]:
    """The columns of a statement: those it names, and for keys or values it does not name, those of the registry."""
    elements = statement.elements or ()
    keys = _infer(context, statement, clause, _KEY, elements)
    values = _infer(context, statement, clause, _VALUE, elements)
    if keys is None and values is None:
        return elements, clause
    raise SqlError("not yet: inference")


def _infer(
    context: Context, statement: CreateSource, clause: WithClause, part: _Part, elements: Sequence[Element]
) -> Sequence[Column] | None:
    info = clause.key_format_info(statement.name) if part.is_key else clause.value_format_info()
    if info is None:
        return None
    if not _should_infer(clause, part, info, has_elements=any(map(part.owns, elements))):
        return None
    return ()


def _should_infer(clause: WithClause, part: _Part, info: FormatInfo, *, has_elements: bool) -> bool:
    """Whether columns come from the registry: a schema id was given, or no columns and the format has schemas."""
    format = format_of(info.name)
    if clause.number(f"{part.name}_SCHEMA_ID") is not None:
        if not format.infers_schemas:
            raise SqlError(
                f"{part.name}_FORMAT should support schema inference when {part.name}_SCHEMA_ID is provided. "
                f"Current format is {format.name}."
            )
        if has_elements:
            raise SqlError(f"Table elements and {part.name}_SCHEMA_ID cannot both exist for create statement.")
        return True
    return not has_elements and format.infers_schemas


def check_declared_schemas(context: Context, sink: Source, clause: WithClause) -> WithClause:
    """See that the results fit the schemas whose ids WITH gives."""
    return clause


def register_schemas(context: Context, topic: str, schema: Schema, formats: Formats, *, replace: bool) -> None:
    """Tell the registry the schemas of a topic."""
