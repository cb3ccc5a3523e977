"""Compiles expressions to Python functions, once per query."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from millstream.sql.errors import SqlError, StatementError
from millstream.sql.expressions.generated.code import Code, Names, indented
from millstream.sql.expressions.generated.failures import Failures
from millstream.sql.expressions.generated.generator import Generator
from millstream.sql.expressions.inference.calls import table_call
from millstream.sql.expressions.inference.infer import NESTED_TOO_DEEPLY, infer
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.functions.registry import Registry
from millstream.sql.processing_log import ProcessingLog, PythonLog, record_error
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.types import BaseType
from millstream.sql.tree.expressions import Cast, ColumnReference, Expression, FunctionCall
from millstream.sql.tree.format import format_expression

Row = tuple[Any, ...]
Config = Mapping[str, Any]

_INCLUDE_ROWS = "ksql.logging.processing.rows.include"
_MODULE = "millstream.sql.generated"


def compile_row(
    expressions: Sequence[Expression],
    schema: Schema,
    functions: Registry,
    *,
    log: ProcessingLog | None = None,
    config: Config | None = None,
    logger: str = "processing",
    names: Sequence[str] | None = None,
    what: str = "Select",
    tombstones: bool = False,
) -> Callable[[Row], Row]:
    """One function for several expressions over a row.

    Args:
        expressions: over the value columns of the schema.
        schema: what the rows are: tuples of the schema's value columns.
        functions: the functions there are.
        log: where errors are told; an expression that fails is NULL.
        config: settings of functions and casts.
        logger: who tells of errors.
        names: what the expressions are called, for messages.
        what: what the expressions are for, for messages of the compiler.
        tombstones: whether there may be no row, which gives none.

    Returns:
        From the row to the tuple of the values.

    Raises:
        SqlError: an expression does not make sense.
    """
    labels = names or [f"KSQL_COL_{index}" for index in range(len(expressions))]
    messages = tuple(
        f"Error computing expression {format_expression(expression)} for column {label} with index {index}"
        for index, (expression, label) in enumerate(zip(expressions, labels, strict=True))
    )
    positions = _positions(schema)
    plain = [_position(expression, positions) for expression in expressions]
    if len(plain) > 1 and not tombstones and all(at is not None for at in plain):
        return operator.itemgetter(*plain)
    writer = _Writer(schema, functions, positions, config or {}, what)
    results = []
    for index, (expression, at) in enumerate(zip(expressions, plain, strict=True)):
        if at is not None:
            results.append(f"r[{at}]")
        else:
            code = writer.root(expression)
            results.append(writer.rescued(code, f"failures.column(error, {index}, r)"))
    last = ["return (", *indented([f"{result}," for result in results]), ")"]
    return writer.finish(last, log, logger, messages, missing="None" if tombstones else None)


def compile_value(
    expression: Expression,
    schema: Schema,
    functions: Registry,
    *,
    log: ProcessingLog | None = None,
    config: Config | None = None,
    logger: str = "processing",
    what: str = "Select",
    message: str | None = None,
) -> Callable[[Row], Any]:
    """A function for one expression over a row; see `compile_row`. `message` is what is told when it fails."""
    positions = _positions(schema)
    at = _position(expression, positions)
    if at is not None:
        return operator.itemgetter(at)
    writer = _Writer(schema, functions, positions, config or {}, what)
    code = writer.root(expression)
    result = writer.rescued(code, "failures.column(error, 0, r)")
    told = message or f"Error computing expression {format_expression(expression)}"
    return writer.finish([f"return {result}"], log, logger, (told,))


def compile_predicate(
    expression: Expression,
    schema: Schema,
    functions: Registry,
    *,
    log: ProcessingLog | None = None,
    config: Config | None = None,
    logger: str = "processing",
) -> Callable[[Any, Row | None], bool]:
    """A function for a condition over the row of a key: what is NULL, fails or has no row is FALSE."""
    writer = _Writer(schema, functions, _positions(schema), config or {}, "Predicate")
    code = writer.root(expression)
    if code.base is not BaseType.BOOLEAN:
        raise StatementError(f"Invalid Predicate: not a condition: {format_expression(expression)}")
    result = writer.rescued(code, "failures.column(error, 0, r)")
    told = f"Error evaluating predicate {format_expression(expression)}"
    if code.nullable or code.raises:
        result = f"{result} is True"
    return writer.finish([f"return {result}"], log, logger, (told,), parameters="key, r", missing="False")


def compile_table_call(
    call: FunctionCall,
    schema: Schema,
    functions: Registry,
    *,
    log: ProcessingLog | None = None,
    config: Config | None = None,
    logger: str = "processing",
) -> Callable[[Row], list[Any]]:
    """A function for a call of a table function: from the row to the list of what it gives."""
    scope = Scope.of(schema, functions, config)
    resolved = table_call(call, scope, infer)
    widened = [
        argument if parameter is None or infer(argument, scope) in (None, parameter) else Cast(argument, parameter)
        for argument, parameter in zip_longest(call.arguments, resolved.parameters[: len(call.arguments)])
    ]
    arguments = compile_row(
        widened, schema, functions, log=log, config=config, logger=logger, what="table function parameter"
    )
    return _TableCall(resolved.function, arguments, format_expression(call), log or PythonLog(), logger)


class _TableCall:
    def __init__(
        self,
        function: Callable[..., list[Any] | None],
        arguments: Callable[[Row], Row],
        text: str,
        log: ProcessingLog,
        logger: str,
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._text = text
        self._log = log
        self._logger = logger

    def __call__(self, row: Row) -> list[Any]:
        arguments = self._arguments(row)
        try:
            result = self._function(*arguments)
        except Exception as error:
            self._log.error(self._logger, record_error(f"Table function {self._text} threw an exception", error))
            return []
        if result is None:
            self._log.error(self._logger, record_error(f"Table function {self._text} returned null", None))
            return []
        return result


def _positions(schema: Schema) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, column in enumerate(schema.value):
        found.setdefault(column.name, index)
    return found


def _position(expression: Expression, positions: Mapping[str, int]) -> int | None:
    if isinstance(expression, ColumnReference) and expression.source is None:
        return positions.get(expression.name)
    return None


class _Writer:
    """Writes the function that evaluates expressions."""

    def __init__(
        self, schema: Schema, functions: Registry, positions: dict[str, int], config: Config, what: str
    ) -> None:
        self._schema = schema
        self._what = what
        self._config = config
        self._names = Names()
        self._generator = Generator(Scope.of(schema, functions, config), positions, self._names)

    def root(self, expression: Expression) -> Code:
        """The code of a whole expression."""
        try:
            code = self._generator.value(expression, quiet=True)
            if code.kind is None:
                raise SqlError("NULL expression not supported")
            return code
        except RecursionError:
            raise SqlError(NESTED_TOO_DEEPLY) from None
        except SqlError as error:
            text = format_expression(expression)
            raise StatementError(
                f"Invalid {self._what}: {error.primary}. expression: {text}, schema:{self._schema}", statement=text
            ) from error

    def rescued(self, code: Code, rescue: str) -> str:
        """The text of a value whose errors are told."""
        if not code.raises:
            return code.text
        target = self._names.unique("v")
        self._generator.body.add(
            "try:", f"    {target} = {code.text}", "except Exception as error:", f"    {target} = {rescue}"
        )
        return target

    def finish(
        self,
        last: list[str],
        log: ProcessingLog | None,
        logger: str,
        messages: tuple[str, ...],
        *,
        parameters: str = "r",
        missing: str | None = None,
    ) -> Callable[..., Any]:
        """The function, compiled. `missing` is its result when there is no row."""
        guard = [] if missing is None else ["if r is None:", f"    return {missing}"]
        body = [*guard, *self._generator.loads(), *self._generator.body.lines, *last]
        source = "\n".join([f"def evaluate({parameters}):", *indented(body), ""])
        filename = f"<millstream sql {hashlib.sha256(source.encode()).hexdigest()[:12]}>"
        include_rows = str(self._config.get(_INCLUDE_ROWS, False)).lower() == "true"
        failures = Failures(log or PythonLog(), logger, messages, filename, source, include_rows)
        # The name belongs to no module that can be imported: pickles hold the code itself.
        namespace = {"__name__": _MODULE, **self._names.globals, "failures": failures}
        try:
            code = compile(source, filename, "exec")
        except (SyntaxError, RecursionError, MemoryError) as error:  # what is nested deeper than Python can go
            raise SqlError(NESTED_TOO_DEEPLY) from error
        exec(code, namespace)  # noqa: S102 - this module wrote the source
        function: Callable[..., Any] = namespace["evaluate"]
        return function
