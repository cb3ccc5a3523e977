"""Plans of pull queries that ask for a key, used again for other keys.

Parsing and planning take milliseconds, a lookup takes microseconds, and clients ask the same for one key after the
other. So statements that differ in nothing but a single literal share a plan, where that literal is what the key of the
table must be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import Queries
from millstream.sql.engine.statements.selection import TableLookup
from millstream.sql.plan.steps import TableFilter, TableSelect
from millstream.sql.schema.types import BaseType
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import (
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    IntegerLiteral,
    LongLiteral,
    StringLiteral,
)

_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+\b", re.ASCII)
#: Begins a variable, whose value a statement's text does not tell.
_VARIABLE = "${"
_MOST = 256
_LARGEST = {BaseType.INTEGER: 2**31 - 1, BaseType.BIGINT: 2**63 - 1}


@dataclass(frozen=True)
class _Prepared:
    """A plan, and what it was made for."""

    lookup: TableLookup
    source: Source
    settings: Settings

    def is_good_in(self, context: Context) -> bool:
        """Whether it would be made again."""
        name = self.source.name
        return (
            context.catalogue.sources.get(name) is self.source
            and context.queries.creating(name) is self.lookup.keeping
            and context.settings == self.settings
        )


@dataclass(frozen=True)
class _Generation:
    """The plans made for one state of the engine, by what stands around their literals."""

    catalogue: Catalogue | None = None
    queries: Queries | None = None
    plans: dict[tuple[str, str], _Prepared] = field(default_factory=dict)

    def is_of(self, context: Context) -> bool:
        return self.catalogue is context.catalogue and self.queries is context.queries


class PreparedPulls:
    """Remembers plans as long as streams, tables and queries stay what they are. Its methods are for any thread."""

    def __init__(self) -> None:
        self._now = _Generation()

    def find(self, context: Context, text: str) -> TableLookup | None:
        """The plan of a statement, if that of one like it is known."""
        now = self._now
        literal = _only_literal(text) if now.plans and now.is_of(context) else None
        if literal is None:
            return None
        prepared = now.plans.get(_around(text, literal))
        if prepared is None or not prepared.is_good_in(context):
            return None
        key = _value(literal[0], prepared.source)
        return None if key is None else replace(prepared.lookup, plan=prepared.lookup.plan.of_key((key,)))

    def keep(self, context: Context, text: str, lookup: TableLookup) -> None:
        """Remember a plan that was just made, if it serves for other keys, too."""
        literal, compared = _only_literal(text), _compared_with(lookup)
        source = context.catalogue.sources[lookup.prepared.query.source.name]
        if literal is None or compared is None or _value(literal[0], source) != compared:
            return
        if not self._now.is_of(context) or len(self._now.plans) >= _MOST:
            self._now = _Generation(context.catalogue, context.queries)
        self._now.plans[_around(text, literal)] = _Prepared(lookup, source, context.settings)


def _only_literal(text: str) -> re.Match[str] | None:
    if _VARIABLE in text:
        return None
    found = list(_LITERAL.finditer(text))
    return found[0] if len(found) == 1 else None


def _around(text: str, literal: re.Match[str]) -> tuple[str, str]:
    """What a statement is beside its literal. In the same place the same kind of literal means the same."""
    kind = "'" if literal[0][0] == "'" else "0"
    return text[: literal.start()] + kind, text[literal.end() :]


def _value(literal: str, table: Source) -> str | int | None:
    """A literal as a table's key; None where it takes more than that."""
    if table.window is not None or len(table.schema.key) != 1:
        return None
    kind = table.schema.key[0].type.base
    if literal[0] == "'":
        return literal[1:-1].replace("''", "'") if kind is BaseType.STRING else None
    return int(literal) if len(literal) < 20 and int(literal) <= _LARGEST.get(kind, -1) else None


def _compared_with(lookup: TableLookup) -> str | int | None:
    """What the key must be, if that is all that is asked of a row."""
    step = lookup.prepared.planned.plan.step
    before = step.source if isinstance(step, TableSelect) else None
    condition = before.condition if isinstance(before, TableFilter) else None
    if not isinstance(condition, Comparison) or condition.operator is not ComparisonOperator.EQUAL:
        return None
    sides: list[Expression] = [condition.left, condition.right]
    literals = [side.value for side in sides if isinstance(side, StringLiteral | IntegerLiteral | LongLiteral)]
    is_of_key = len(lookup.plan.lookups) == 1 and any(isinstance(side, ColumnReference) for side in sides)
    return literals[0] if is_of_key and len(literals) == 1 and lookup.plan.is_of_keys else None
