"""From a WHERE to what is looked up, by ksqlDB's rules of what is allowed and in its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from millstream.sql.analysis.wording import PULL_HELP
from millstream.sql.errors import SqlError
from millstream.sql.expressions import CoercionError, Scope, coerce, evaluate_constant, infer
from millstream.sql.functions.registry import Registry
from millstream.sql.pull.disjuncts import Conjunction, disjuncts, joined
from millstream.sql.pull.lookups import KeyLookup, Lookup, RangeLookup, Scan
from millstream.sql.pull.windows import WindowTimes
from millstream.sql.schema.columns import WINDOW_BOUNDS, Column, Schema
from millstream.sql.schema.types import BaseType, quote
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import (
    ColumnReference,
    Comparison,
    ComparisonOperator,
    Expression,
    Like,
    Literal,
    NullLiteral,
    StringLiteral,
)
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import references

_TURNED = {
    ComparisonOperator.LESS_THAN: ComparisonOperator.GREATER_THAN,
    ComparisonOperator.LESS_THAN_OR_EQUAL: ComparisonOperator.GREATER_THAN_OR_EQUAL,
    ComparisonOperator.GREATER_THAN: ComparisonOperator.LESS_THAN,
    ComparisonOperator.GREATER_THAN_OR_EQUAL: ComparisonOperator.LESS_THAN_OR_EQUAL,
}
_LOWER = (ComparisonOperator.GREATER_THAN, ComparisonOperator.GREATER_THAN_OR_EQUAL)
_UPPER = (ComparisonOperator.LESS_THAN, ComparisonOperator.LESS_THAN_OR_EQUAL)
_BOUNDS = (ComparisonOperator.EQUAL, *_LOWER, *_UPPER)

_NEEDS_SCAN = (
    "Query requires table scan to be enabled. Table scans can be enabled by setting "
    "ksql.query.pull.table.scan.enabled=true"
)
_WHERE_HELP = """
Pull queries require a WHERE clause that:
 - includes a key equality expression, e.g. `SELECT * FROM X WHERE <key-column> = Y;`.
 - in the case of a multi-column key, is a conjunction of equality expressions that cover all key columns.
 - to support range expressions, e.g.,  SELECT * FROM X WHERE <key-column> < Y;`, range scans need to be enabled by \
setting ksql.query.pull.range.scan.enabled=true"""
_WINDOWED_HELP = f"""
 - (optionally) limits the time bounds of the windowed table.
\t Bounds on [{", ".join(map(quote, WINDOW_BOUNDS))}] are supported
\t Supported operators are [{", ".join(bound.name for bound in _BOUNDS)}]"""
_SCAN_HELP = (
    "\nIf more flexible queries are needed, , table scans can be enabled by setting "
    "ksql.query.pull.table.scan.enabled=true."
)


class _Compared(NamedTuple):
    """A column compared with something, the column on the left."""

    column: str
    operator: ComparisonOperator
    other: Expression


@dataclass(frozen=True)
class Constraints:
    """The rules for one table.

    Attributes:
        schema: the columns of the table.
        windowed: whether its keys have windows.
        functions: those that constant expressions call.
        settings: which kinds of scans are allowed, among others.
    """

    schema: Schema
    windowed: bool
    functions: Registry
    settings: Settings

    @property
    def _scans(self) -> bool:
        return bool(self.settings.get("ksql.query.pull.table.scan.enabled", True))

    def lookups(self, condition: Expression | None) -> Sequence[Lookup]:
        """What to look up for a condition: enough to find all rows that meet it.

        Raises:
            SqlError: the condition cannot be answered, or only in a way that is not allowed.
        """
        if condition is None:
            if not self._scans:
                raise self._invalid("Missing WHERE clause")
            return [Scan()]
        alternatives = disjuncts(condition)
        if alternatives is None:
            return [self._scan()]
        if any(self._needs_scan(alternative) for alternative in alternatives):
            return [Scan()]
        found = [self._lookup(alternative) for alternative in alternatives]
        one_range = len(found) == 1 and isinstance(found[0], RangeLookup)
        if one_range or all(isinstance(lookup, KeyLookup) for lookup in found):
            return list({repr(lookup): lookup for lookup in found}.values())  # keys may be lists: they have no hash
        return [self._scan()]

    def _scan(self) -> Scan:
        if not self._scans:
            raise SqlError(_NEEDS_SCAN)
        return Scan()

    # What is allowed.

    def _needs_scan(self, alternative: Conjunction) -> bool:
        """Whether an alternative can only be found by looking at all rows.

        Raises:
            SqlError: it can, and that is not allowed; or it is never allowed.
        """
        seen: set[str] = set()
        refusals = [refusal for part in alternative if (refusal := self._refusal(part, seen)) is not None]
        if refusals:
            if not self._scans:
                raise self._invalid(refusals[0])
            return True
        keys = [column.name for column in self.schema.key]
        if not seen:
            refusal = f"WHERE clause missing key column for disjunct: {format_expression(joined(alternative))}"
        elif len(seen) < len(keys):
            specified = ", ".join(quote(name) for name in keys if name in seen)
            expected = ", ".join(map(str, self.schema.key))
            refusal = (
                "Multi-column sources must specify every key in the WHERE clause. "
                f"Specified: [{specified}] Expected: [{expected}]"
            )
        else:
            return False
        if not self._scans:
            raise self._invalid(refusal)
        return True

    def _refusal(self, part: Expression, seen: set[str]) -> str | None:
        """Why a part of an alternative needs a scan, if it does. Key columns it compares are added to `seen`."""
        if isinstance(part, Like):
            return self._refused_like(part)
        if not isinstance(part, Comparison):
            return f"Unsupported expression in WHERE clause: {format_expression(part)}"
        compared = _compared(part)
        if compared is None:
            return "A comparison must directly reference a key column"
        if next(references(compared.other), None) is not None:
            return "A comparison must be between a key column and a resolvable expression"
        if compared.column in WINDOW_BOUNDS:
            if compared.operator not in _BOUNDS:
                name = quote(compared.column)
                raise self._invalid(f"Unsupported {name} bounds: {compared.operator.name}", windowed=True)
            return None
        if compared.column not in [column.name for column in self.schema.key]:
            return None
        if compared.column in seen and not self._scans:
            return (
                "A comparison condition on the key column cannot be combined with other comparisons such as an IN "
                "predicate"
            )
        if compared.operator not in _BOUNDS:
            return f"Bound on key columns '[{', '.join(map(str, self.schema.key))}]' must currently be '='"
        seen.add(compared.column)
        return None

    def _refused_like(self, part: Like) -> str | None:
        if not isinstance(part.value, ColumnReference):
            return "Like condition must be between strings"
        column = self.schema.find(part.value.name)
        if column is not None and column.type.base is not BaseType.STRING:
            raise self._invalid(
                "The column type for Like condition must be VARCHAR. The column type is " + column.type.base.value
            )
        if not isinstance(part.pattern, StringLiteral | NullLiteral):
            raise self._invalid(f"Like condition on non-string pattern {type(part.pattern).__name__}")
        return None

    def _invalid(self, message: str, *, windowed: bool | None = None) -> SqlError:
        shown = self.windowed if windowed is None else windowed
        return SqlError(f"{message}.{PULL_HELP}" + _WHERE_HELP + (_WINDOWED_HELP if shown else "") + _SCAN_HELP)

    # What is looked up.

    def _lookup(self, alternative: Conjunction) -> Lookup:
        """What finds all rows of an alternative that compares every key column."""
        equal: dict[str, Any] = {}
        low: Any = None
        high: Any = None
        times = WindowTimes(self._invalid)
        for part in alternative:
            compared = _compared(part)
            if compared is None:
                continue
            if compared.column in WINDOW_BOUNDS:
                times.add(part, compared.column, compared.operator, self._time(compared))
                continue
            column = next((column for column in self.schema.key if column.name == compared.column), None)
            if column is None:
                continue
            value = self._key(compared.other, column, part)
            if compared.operator is ComparisonOperator.EQUAL:
                equal.setdefault(column.name, value)
            elif compared.operator in _LOWER:
                low = value if low is None else low
            else:
                high = value if high is None else high
        names = [column.name for column in self.schema.key]
        if all(name in equal for name in names):
            return KeyLookup(tuple(equal[name] for name in names), times.starts, times.ends)
        if self._has_ranges():
            return RangeLookup(None if low is None else (low,), None if high is None else (high,))
        return Scan()

    def _has_ranges(self) -> bool:
        """Whether ranges of keys can be asked for. Only keys of one text, or of bytes, are in an order of their own."""
        return (
            not self.windowed
            and len(self.schema.key) == 1
            and self.schema.key[0].type.base in (BaseType.STRING, BaseType.BYTES)
            and bool(self.settings.get("ksql.query.pull.range.scan.enabled", True))
        )

    def _key(self, expression: Expression, column: Column, part: Expression) -> Any:
        if isinstance(expression, Literal):
            found = infer(expression, Scope.of(Schema(()), self.functions, self.settings))
            value = None if isinstance(expression, NullLiteral) else expression.value
            try:
                value = coerce(value, found, column.type)
            except CoercionError:
                shown = format_expression(expression).strip("'")
                raise SqlError(
                    f"'{shown}' can not be converted to the type of the key column: {column.name} {column.type} KEY"
                ) from None
        else:
            value = evaluate_constant(
                expression, column.type, self.functions, name=column.name, config=self.settings, what="pull query"
            )
        if value is None:
            raise SqlError(f"Primary key columns can not be NULL: {format_expression(part)}")
        return value

    def _time(self, compared: _Compared) -> int:
        kind = WINDOW_BOUNDS[compared.column]
        what = "pull query window bounds extractor"
        try:
            value = evaluate_constant(
                compared.other, kind, self.functions, name=compared.column, config=self.settings, what=what
            )
        except SqlError:
            value = None
        if not isinstance(value, int):
            raise self._invalid(
                "Window bounds must resolve to an INT, BIGINT, or STRING containing a datetime", windowed=True
            )
        return value


def _compared(part: Expression) -> _Compared | None:
    """A comparison with a column, if it is one. The right side is looked at first, as ksqlDB does."""
    if not isinstance(part, Comparison):
        return None
    if isinstance(part.right, ColumnReference):
        return _Compared(part.right.name, _TURNED.get(part.operator, part.operator), part.left)
    if isinstance(part.left, ColumnReference):
        return _Compared(part.left.name, part.operator, part.right)
    return None
