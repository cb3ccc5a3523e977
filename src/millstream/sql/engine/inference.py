"""Columns from a schema registry, and schemas into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.sql.engine.context import Context
from millstream.sql.engine.properties import WithClause
from millstream.sql.errors import SqlError, StatementError
from millstream.sql.formats import RegisteredSchema, SchemaRegistry, format_of
from millstream.sql.formats.features import key_features
from millstream.sql.schema.columns import Column, Namespace, Schema
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo, Formats
from millstream.sql.tree.statements import Constraint, CreateSource, Element, SourceKind

_KEYS = (Constraint.KEY, Constraint.PRIMARY_KEY)
_HEADERS = (Constraint.HEADER, Constraint.HEADERS)


def infer_elements(
    context: Context, statement: CreateSource, clause: WithClause
) -> tuple[tuple[Element, ...], WithClause]:
    """The columns of a statement: those it names, and for keys or values it does not name, those of the registry."""
    raise NotImplementedError


def register_schemas(context: Context, topic: str, schema: Schema, formats: Formats, *, replace: bool) -> None:
    """Tell the registry the schemas of a topic."""
    raise NotImplementedError
