"""Columns from a schema registry, and schemas into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.errors import RegistryError
from millstream.sql.catalogue import Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements.properties import WithClause
from millstream.sql.errors import RegistryMissing, SqlError
from millstream.sql.formats import (
    Inferred,
    RegisteredSchema,
    SchemaRegistry,
    check_schema_kind,
    format_of,
    infer_columns,
    key_features,
    new_schema,
    subject,
)
from millstream.sql.schema.columns import Column
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo, Formats
from millstream.sql.tree.statements import Constraint, CreateSource, Element, SourceKind

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

    def schema_id(self, clause: WithClause) -> int | None:
        return clause.number(f"{self.name}_SCHEMA_ID")

    def full_name(self, clause: WithClause) -> str | None:
        name = clause.text(f"{self.name}_SCHEMA_FULL_NAME")
        return name.strip() or None if name is not None else None


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
    found = [element for element in elements if _KEY.owns(element)]
    if keys is not None:
        constraint = Constraint.KEY if statement.kind is SourceKind.STREAM else Constraint.PRIMARY_KEY
        found = [Element(column.name, column.type, constraint) for column in keys.columns]
    if values is None:
        found += [element for element in elements if _VALUE.owns(element)]
    else:
        found += [Element(column.name, column.type) for column in values.columns]
    found += [element for element in elements if element.constraint in _HEADERS]
    for part, inferred in ((_KEY, keys), (_VALUE, values)):
        _check_single_definition(part, inferred, clause)
    return tuple(found), clause.with_schema_names(
        _KEY.full_name(clause) or _name_by_id(_KEY, keys, clause),
        _VALUE.full_name(clause) or _name_by_id(_VALUE, values, clause),
    )


def _infer(
    context: Context, statement: CreateSource, clause: WithClause, part: _Part, elements: Sequence[Element]
) -> Inferred | None:
    info = clause.key_format_info(statement.name) if part.is_key else clause.value_format_info()
    if info is None or not _should_infer(clause, part, info, has_elements=any(map(part.owns, elements))):
        return None
    if part.is_key:
        # A single key column is always expected bare.
        encoding = Encoding(info, key_features(info.name, single=True))
    else:
        wrap = clause.wrap_single_value
        feature = {None: (), True: (Feature.WRAP_SINGLES,), False: (Feature.UNWRAP_SINGLES,)}[wrap]
        encoding = Encoding(info, frozenset(feature))
    return infer_columns(
        encoding,
        _registry(context, info, clause.topic or ""),
        topic=clause.topic,
        is_key=part.is_key,
        schema_id=part.schema_id(clause),
    )


def _registry(context: Context, info: FormatInfo, topic: str) -> SchemaRegistry:
    if context.registry is None:
        raise RegistryMissing(
            f"Cannot create topic '{topic}' with format {info.name} without configuring 'ksql.schema.registry.url'"
        )
    return context.registry


def _should_infer(clause: WithClause, part: _Part, info: FormatInfo, *, has_elements: bool) -> bool:
    """Whether columns come from the registry: a schema id was given, or no columns and the format has schemas."""
    format = format_of(info.name)
    if part.schema_id(clause) is not None:
        _check_can_infer(part, info)
        if has_elements:
            raise SqlError(f"Table elements and {part.name}_SCHEMA_ID cannot both exist for create statement.")
        return True
    return not has_elements and format.infers_schemas


def _check_can_infer(part: _Part, info: FormatInfo) -> None:
    if not format_of(info.name).infers_schemas:
        raise SqlError(
            f"{part.name}_FORMAT should support schema inference when {part.name}_SCHEMA_ID is provided. "
            f"Current format is {info.name}."
        )


def _check_single_definition(part: _Part, inferred: Inferred | None, clause: WithClause) -> None:
    if inferred is None or part.full_name(clause) is not None or len(inferred.names) <= 1:
        return
    listed = "\n".join(f"- {name}" for name in inferred.names)
    raise SqlError(
        f"{part.name.capitalize()} schema has multiple schema definitions. \n\n{listed}\n\n"
        f"Please specify a schema full name in the WITH clause using {part.name}_SCHEMA_FULL_NAME"
    )


def _name_by_id(part: _Part, inferred: Inferred | None, clause: WithClause) -> str | None:
    """The name of a schema that was taken by its number."""
    if inferred is None or part.schema_id(clause) is None or not inferred.names:
        return None
    return inferred.names[0]


def declared_formats(context: Context, sink: Source, clause: WithClause) -> Formats:
    """The formats of a query's results, with the names of the schemas whose numbers WITH gives.

    Raises:
        SqlError: the results do not fit these schemas.
    """
    return Formats(
        _declared(context, sink, clause, _KEY, sink.formats.key, sink.schema.key),
        _declared(context, sink, clause, _VALUE, sink.formats.value, sink.schema.value),
    )


def _declared(
    context: Context, sink: Source, clause: WithClause, part: _Part, encoding: Encoding, columns: Sequence[Column]
) -> Encoding:
    schema_id = part.schema_id(clause)
    if schema_id is None:
        return encoding
    _check_can_infer(part, encoding.format)
    expected = encoding
    if part.is_key:
        expected = Encoding(encoding.format, key_features(encoding.format.name, single=True))
    registry = _registry(context, encoding.format, sink.topic)
    inferred = infer_columns(expected, registry, topic=clause.topic, is_key=part.is_key, schema_id=schema_id)
    _check_columns(part, columns, inferred.columns)
    name = _name_by_id(part, inferred, clause)
    if name is None:
        return encoding
    properties = {**dict(encoding.format.properties), "fullSchemaName": name}
    return replace(encoding, format=FormatInfo(encoding.format.name, tuple(sorted(properties.items()))))


def _check_columns(part: _Part, columns: Sequence[Column], inferred: Sequence[Column]) -> None:
    changed = [
        column
        for index, column in enumerate(columns)
        if index >= len(inferred) or (inferred[index].name, inferred[index].type) != (column.name, column.type)
    ]
    if changed:
        shown, schema = (f"[{', '.join(map(str, listed))}]" for listed in (changed, inferred))
        raise SqlError(
            f"The following {part.name.lower()} columns are changed, missing or reordered: {shown}. "
            f"Schema from schema registry is {schema}"
        )


@dataclass(frozen=True)
class NewSchema:
    """A schema that the registry is to be told.

    Attributes:
        part: KEY or VALUE.
        schema_id: the number that it must have, if WITH gives one.
    """

    topic: str
    part: str
    schema: RegisteredSchema
    schema_id: int | None = None

    def register(self, registry: SchemaRegistry) -> None:
        """Tell the registry.

        Raises:
            SqlError: it refuses the schema, or gives it another number.
        """
        name = subject(self.topic, is_key=self.part == _KEY.name)
        try:
            registered = registry.register(name, self.schema)
        except RegistryError as error:
            raise SqlError(
                f"Could not register schema for topic: {error.primary}", detail=error.detail, hint=error.hint
            ) from error
        if self.schema_id not in (None, registered):
            raise SqlError(
                f"Schema id registered is {registered} which is different from provided {self.part}_SCHEMA_ID "
                f"{self.schema_id}.\nTopic: {self.topic}\nSubject: {name}\nSchema: {self.schema.text}"
            )


def new_schemas(context: Context, source: Source, clause: WithClause, *, if_exists: bool) -> tuple[NewSchema, ...]:
    """The schemas that the registry is to be told of a source.

    Args:
        context: has the registry.
        source: whose schemas they are.
        clause: may give the numbers of schemas that are registered as they are.
        if_exists: also where the topic has a schema already.

    Raises:
        SqlError: there is no registry, or a schema whose number was given is one of another format.
    """
    made, numbered = [], []
    for part, encoding, columns in (
        (_KEY, source.formats.key, source.schema.key),
        (_VALUE, source.formats.value, source.schema.value),
    ):
        schema_id = part.schema_id(clause)
        if schema_id is not None:
            known = _registry(context, encoding.format, source.topic).by_id(schema_id)
            if known is not None:
                check_schema_kind(encoding.format, known, is_key=part.is_key)
                numbered.append(NewSchema(source.topic, part.name, known, schema_id))
            continue
        schema = new_schema(
            encoding, columns, context.registry, topic=source.topic, is_key=part.is_key, if_exists=if_exists
        )
        if schema is not None:
            made.append(NewSchema(source.topic, part.name, schema))
    return (*made, *numbered)
