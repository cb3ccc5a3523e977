"""Writes Python for expressions.

NULL in arithmetic, in a condition and in LIKE is an error in ksqlDB, which makes the whole expression NULL: the code
does not test for it but lets Python raise, except where the result would be just NULL (`quiet`): there it is tested
first, which is quicker and leaves the log alone.

Some parts have errors of their own: a call or a field among the arguments of a call, a cast, an element of an array, a
map or a struct. They become NULL and the rest goes on (`guarded`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions.casts import PRESERVE_NULLS, cast_function
from millstream.sql.expressions.conversions.values import literal_value
from millstream.sql.expressions.generated import runtime
from millstream.sql.expressions.generated.arithmetic import ARITHMETIC, arithmetic
from millstream.sql.expressions.generated.code import UNKNOWN, Body, Code, Names, indented
from millstream.sql.expressions.generated.comparison import between, comparison, in_list, like
from millstream.sql.expressions.inference.calls import resolve_call
from millstream.sql.expressions.inference.coercion import coerce_all
from millstream.sql.expressions.inference.infer import as_searched, infer
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.functions.model import LambdaType
from millstream.sql.schema.types import BOOLEAN, BaseType, SqlArray, SqlMap, SqlStruct, SqlType
from millstream.sql.tree.expressions import (
    Between,
    Cast,
    ColumnReference,
    Comparison,
    CreateArray,
    CreateMap,
    CreateStruct,
    Dereference,
    Expression,
    FunctionCall,
    InList,
    IntervalUnit,
    IsNotNull,
    IsNull,
    LambdaFunction,
    LambdaVariable,
    Like,
    Literal,
    Logical,
    LogicalOperator,
    Not,
    SearchedCase,
    SimpleCase,
    Subscript,
)
from millstream.sql.tree.format import format_expression

#: Casts that never raise, and those that are written out.
_SAFE = {BaseType.BOOLEAN, BaseType.INTEGER, BaseType.BIGINT, BaseType.DOUBLE, BaseType.DECIMAL}
_INLINE = {
    (BaseType.INTEGER, BaseType.DOUBLE): "float({})",
    (BaseType.BIGINT, BaseType.DOUBLE): "float({})",
    (BaseType.DECIMAL, BaseType.DOUBLE): "float({})",
    (BaseType.INTEGER, BaseType.STRING): "str({})",
    (BaseType.BIGINT, BaseType.STRING): "str({})",
}


class Generator:
    """Writes expressions over one row.

    Args:
        scope: what names mean.
        positions: where in the row the columns are.
        names: the names of the generated code.
    """

    def __init__(self, scope: Scope, positions: dict[str, int], names: Names) -> None:
        self.scope = scope
        self.names = names
        self.columns: dict[str, str] = {}
        self.body = Body()
        self._positions = positions
        self._parameters: dict[str, Code] = {}

    def value(self, expression: Expression, *, quiet: bool = False) -> Code:
        """The code of an expression.

        Args:
            expression: to be written.
            quiet: NULL instead of an error will do, when NULL is the reason.
        """
        if isinstance(expression, ARITHMETIC):
            return arithmetic(self, expression, quiet)
        match expression:
            case ColumnReference(name=name):
                return self._column(name, infer(expression, self.scope))
            case _ if isinstance(expression, Literal):
                return self.constant(literal_value(expression), infer(expression, self.scope))
            case IntervalUnit(unit=unit):
                return Code(self.names.of(unit.name, unit), None, nullable=False, atom=True)
            case LambdaVariable(name=name) if name in self._parameters:
                return self._parameters[name]
            case Comparison():
                infer(expression, self.scope)
                return self.folded(
                    comparison(self, expression.operator, self.value(expression.left), self.value(expression.right))
                )
            case Logical():
                return self._logical(expression)
            case Not(value=value):
                operand = self.condition(value)
                return self.folded(operand.but(text=f"(not {operand.text})", atom=False, value=UNKNOWN), operand)
            case Between():
                return between(self, expression)
            case InList():
                return in_list(self, expression)
            case Like():
                return like(self, expression, quiet)
            case IsNull(value=value) | IsNotNull(value=value):
                return self._is_null(value, isinstance(expression, IsNull))
            case SimpleCase():
                return self._case(as_searched(expression), quiet)
            case SearchedCase():
                return self._case(expression, quiet)
            case Cast(value=value, type=target):
                return self.guarded(lambda: self.cast(self.value(value, quiet=True), target), str(target))
            case Dereference():
                return self._dereference(expression, quiet)
            case Subscript():
                return self._subscript(expression, quiet)
            case CreateArray(values=values):
                return self._array(values, infer(expression, self.scope))
            case CreateMap(entries=entries):
                return self._map(entries, infer(expression, self.scope))
            case CreateStruct(fields=fields):
                return self._struct(fields, infer(expression, self.scope))
            case FunctionCall():
                return self._call(expression)
            case _:
                infer(expression, self.scope)
                raise SqlError(f"Not an expression with a value: {format_expression(expression)}")

    # Building blocks.

    def constant(self, value: Any, kind: SqlType | None) -> Code:
        """A value that is known."""
        bounds = (value, value) if type(value) is int else None
        simple = value is None or isinstance(value, (bool, int, str, bytes))
        if simple or (isinstance(value, float) and math.isfinite(value)):
            text = repr(value) if not isinstance(value, (int, float)) or value >= 0 else f"({value!r})"
        else:
            text = self.names.of("constant", value)
        return Code(text, kind, value is None, atom=True, value=value, bounds=bounds)

    def folded(self, code: Code, *operands: Code) -> Code:
        """The code, or what it is when all its operands are known."""
        if not operands or not all(operand.is_constant for operand in operands):
            return code
        try:
            value = eval(code.text, dict(self.names.globals))  # noqa: S307 - this module wrote the text
            return self.constant(value, code.kind).but(wraps=code.wraps)
        except Exception:
            return code

    def function(self, function: Callable[..., Any], wish: str | None = None) -> str:
        """The name under which generated code finds a function."""
        return self.names.of(wish or str(getattr(function, "__name__", "function")), function)

    def twice(self, code: Code) -> tuple[str, str]:
        """The text where a value is used first, and where it is used again."""
        if code.atom:
            return code.text, code.text
        name = self.names.temporary()
        return f"({name} := {code.text})", name

    def condition(self, expression: Expression) -> Code:
        """The code of a condition: TRUE or FALSE, or an error."""
        code = self.value(expression)
        if code.base is not BaseType.BOOLEAN:
            raise SqlError(f"Expected a condition, got: {format_expression(expression)} ({code.kind or 'null'})")
        if not code.nullable:
            return code
        text = f"{self.function(runtime.required)}({code.text})"
        return code.but(text=text, nullable=False, raises=True, atom=False)

    def conditionally(self) -> AbstractContextManager[None]:
        """For what is evaluated only on a condition."""
        return self.body.inside_condition()

    def guarded(self, write: Callable[[], Code], name: str) -> Code:
        """A part whose errors make it NULL."""
        if not self.body.lazy:
            code = write()
            if not code.raises:
                return code
            target = self.names.temporary()
            self.body.add(*self._try(f"{target} = {code.text}", f"{target} = failures.part(error, {name!r}, r)"))
            return Code(target, code.kind, atom=True)
        outer, self.body = self.body, Body()
        try:
            code = write()
            body = self.body
        finally:
            self.body = outer
        if not code.raises and not body.lines:
            return code
        function = self.names.unique("part")
        attempt = [*body.lines, *self._try(f"return {code.text}", f"return failures.part(error, {name!r}, r)")]
        self.body.add(f"def {function}():", *indented(attempt))
        return Code(f"{function}()", code.kind)

    @staticmethod
    def _try(attempt: str, rescue: str) -> list[str]:
        return ["try:", f"    {attempt}", "except Exception as error:", f"    {rescue}"]

    # Expressions.

    def _column(self, name: str, kind: SqlType | None) -> Code:
        if name not in self.columns:
            self.columns[name] = self.names.unique(name)
        return Code(self.columns[name], kind, atom=True)

    def loads(self) -> list[str]:
        """The statements that take the columns out of the row."""
        return [f"{local} = r[{self._positions[name]}]" for name, local in self.columns.items()]

    def _logical(self, expression: Logical) -> Code:
        left = self.condition(expression.left)
        with self.conditionally():
            right = self.condition(expression.right)
        operator = "and" if expression.operator is LogicalOperator.AND else "or"
        return Code(
            f"({left.text} {operator} {right.text})", BOOLEAN, nullable=False, raises=left.raises or right.raises
        )

    def _is_null(self, value: Expression, null: bool) -> Code:
        code = self.value(value, quiet=True)
        if code.is_constant:
            return self.constant((code.value is None) is null, BOOLEAN)
        return Code(f"({code.text} is {'' if null else 'not '}None)", BOOLEAN, nullable=False, raises=code.raises)

    def _case(self, case: SearchedCase, quiet: bool) -> Code:
        kind = infer(case, self.scope)
        parts: list[Code] = []
        texts = []
        first = self.condition(case.whens[0].condition)
        with self.conditionally():
            for index, when in enumerate(case.whens):
                condition = self.condition(when.condition) if index else first
                result = self.value(when.result, quiet=quiet)
                texts.append(f"{result.text} if {condition.text} else ")
                parts += [condition, result]
            if case.default is None:
                default = Code("None", kind)
            else:
                default = self.value(case.default, quiet=quiet)
            parts.append(default)
        raises = any(part.raises for part in parts)
        return Code(f"({''.join(texts)}{default.text})", kind, any(part.nullable for part in parts), raises)

    def cast(self, code: Code, target: SqlType) -> Code:
        """The value as one of another type."""
        source = code.kind
        if source is None or source == target:
            return code.but(kind=target)
        if (source.base, target.base) == (BaseType.INTEGER, BaseType.BIGINT):
            return code.but(kind=target, bounds=code.range())
        preserve = self.scope.config.get(PRESERVE_NULLS, True)
        function = cast_function(source, target, preserve_nulls=str(preserve).lower() != "false")
        template = _INLINE.get((source.base, target.base)) or f"{self.function(function.convert, 'cast')}({{}})"
        first, again = self.twice(code)
        text = template.format(again)
        null = repr(function.null)
        text = f"({null} if {first} is None else {text})" if code.nullable else template.format(code.text)
        safe = source.base in _SAFE and (target.base is BaseType.STRING or source.base.widens_to(target.base))
        raises = code.raises or not safe or target.base is BaseType.DECIMAL
        return self.folded(Code(text, target, code.nullable and null == "None", raises), code)

    def _dereference(self, expression: Dereference, quiet: bool) -> Code:
        kind = infer(expression, self.scope)
        base = self.value(expression.base, quiet=quiet)
        index = base.kind.index(expression.field) if isinstance(base.kind, SqlStruct) else None
        first, again = self.twice(base)
        return Code(f"(None if {first} is None else {again}[{index}])", kind, raises=base.raises)

    def _subscript(self, expression: Subscript, quiet: bool) -> Code:
        kind = infer(expression, self.scope)
        base = self.value(expression.base, quiet=quiet)
        first, again = self.twice(base)
        if isinstance(base.kind, SqlMap):
            key = self.value(expression.index)
            if key.kind is not None and key.base is not base.kind.key.base:
                return Code("None", kind)  # Java finds no BIGINT among INTEGERs either
            raises = base.raises or key.raises or isinstance(key.kind, (SqlArray, SqlMap, SqlStruct))
            return Code(f"(None if {first} is None else {again}.get({key.text}))", kind, raises=raises)
        index = self.value(expression.index)
        if index.base not in (BaseType.INTEGER, BaseType.BIGINT):
            raise SqlError(f"Expected a whole number as the index of an array, got: {index.kind or 'null'}")
        if index.is_constant and isinstance(index.value, int):
            return self._element(first, again, index.value, base.but(kind=kind))
        return Code(f"{self.function(runtime.element)}({base.text}, {index.text})", kind, raises=True)

    def _element(self, first: str, again: str, index: int, code: Code) -> Code:
        if index == 0:
            return Code("None", code.kind)
        at = index - 1 if index > 0 else index
        text = f"(None if {first} is None or len({again}) < {abs(index)} else {again}[{at}])"
        return Code(text, code.kind, raises=code.raises)

    def _items(self, expressions: Sequence[Expression], what: str) -> list[Code]:
        _, coerced = coerce_all(expressions, self.scope, infer)
        return [self._item(expression, what) for expression in coerced]

    def _item(self, expression: Expression, what: str) -> Code:
        return self.guarded(lambda: self.value(expression, quiet=True), what)

    def _array(self, values: Sequence[Expression], kind: SqlType | None) -> Code:
        items = self._items(values, "array item")
        code = Code(f"[{', '.join(item.text for item in items)}]", kind, nullable=False)
        return self.folded(code, *items)

    def _map(self, entries: Sequence[tuple[Expression, Expression]], kind: SqlType | None) -> Code:
        keys = self._items([key for key, _ in entries], "map key")
        values = self._items([value for _, value in entries], "map value")
        pairs = (f"{key.text}: {value.text}" for key, value in zip(keys, values, strict=True))
        unhashable = isinstance(kind, SqlMap) and isinstance(kind.key, (SqlArray, SqlMap, SqlStruct))
        code = Code(f"{{{', '.join(pairs)}}}", kind, nullable=False, raises=unhashable)
        return self.folded(code, *keys, *values)

    def _struct(self, fields: Sequence[tuple[str, Expression]], kind: SqlType | None) -> Code:
        items = [self._item(value, "struct field") for _, value in fields]
        code = Code(f"({' '.join(f'{item.text},' for item in items)})", kind, nullable=False)
        return self.folded(code, *items)

    def _call(self, call: FunctionCall) -> Code:
        resolved = resolve_call(call, self.scope, infer)
        checks, texts = [], []
        for argument, parameter in zip(call.arguments, resolved.parameters, strict=True):
            if isinstance(argument, LambdaFunction) and isinstance(parameter, LambdaType):
                texts.append(self._lambda(argument, parameter))
                continue
            code = self._argument(argument, parameter if isinstance(parameter, SqlType) else None)
            if code.nullable and not resolved.pass_null:
                first, again = self.twice(code)
                checks.append(f"{first} is None")
                texts.append(again)
            else:
                texts.append(code.text)
        text = f"{self.function(resolved.function, call.name)}({', '.join(texts)})"
        if checks:
            text = f"(None if {' or '.join(dict.fromkeys(checks))} else {text})"
        return Code(text, resolved.returns, raises=True)

    def _argument(self, argument: Expression, parameter: SqlType | None) -> Code:
        kind = infer(argument, self.scope)
        if parameter is not None and kind is not None and kind != parameter:
            return self.value(Cast(argument, parameter))
        if isinstance(argument, FunctionCall):
            return self.guarded(lambda: self.value(argument), argument.name)
        if isinstance(argument, Dereference):
            return self.guarded(lambda: self.value(argument), argument.field)
        return self.value(argument)

    def _lambda(self, function: LambdaFunction, kind: LambdaType) -> str:
        outer_body, outer_parameters, outer_scope = self.body, self._parameters, self.scope
        names = [self.names.unique(name) for name in function.parameters]
        self.body = Body()
        self.scope = outer_scope.inside(zip(function.parameters, kind.parameters, strict=True))
        self._parameters = {
            **outer_parameters,
            **{
                parameter: Code(name, type_, atom=True)
                for parameter, name, type_ in zip(function.parameters, names, kind.parameters, strict=True)
            },
        }
        try:
            code = self.value(function.body)
            lines = self.body.lines
        finally:
            self.body, self._parameters, self.scope = outer_body, outer_parameters, outer_scope
        if not lines:
            return f"lambda {', '.join(names)}: {code.text}"
        name = self.names.unique("body")
        self.body.add(f"def {name}({', '.join(names)}):", *indented([*lines, f"return {code.text}"]))
        return name
