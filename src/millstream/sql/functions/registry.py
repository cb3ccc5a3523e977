"""All functions there are, by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.factories import AggregateFactory, ScalarFactory, TableFactory
from millstream.sql.functions.model import ArgumentDescription, FunctionDescription, VariantDescription
from millstream.sql.functions.resolution import Variant
from millstream.sql.functions.signature import Parameter

#: The modules of built-in functions; each has a `Declarations` named FUNCTIONS.
MODULES = (
    "numbers.math",
    "numbers.trigonometry",
    "general.extremes",
    "numbers.geo",
    "text.strings",
    "text.padding",
    "text.masking",
    "text.regular_expressions",
    "text.json_text",
    "numbers.byte_numbers",
    "text.encodings",
    "text.url",
    "collections.arrays",
    "collections.maps",
    "collections.lambdas",
    "general.nulls",
    "times.dates",
    "times.times",
    "times.timestamps",
    "aggregates.counts",
    "aggregates.sums",
    "aggregates.extremes",
    "aggregates.collections",
    "aggregates.offsets",
    "aggregates.statistics",
    "aggregates.topk",
    "collections.tables",
)


class Registry:
    """Functions by name, in any case."""

    def __init__(self) -> None:
        self._scalars: dict[str, ScalarFactory] = {}
        self._aggregates: dict[str, AggregateFactory] = {}
        self._tables: dict[str, TableFactory] = {}

    def add(self, declarations: Declarations) -> None:
        """Adds the functions of a module.

        Raises:
            SqlError: a name is taken by another kind of function, or a variant is there already.
        """
        for name, scalars in declarations.scalars.items():
            self._check(name, self._aggregates, self._tables)
            scalar = self._scalars.setdefault(
                name.upper(), ScalarFactory(name, declarations.category, declarations.author)
            )
            _extend(name, scalar.variants, scalars)
        for name, aggregates in declarations.aggregates.items():
            self._check(name, self._scalars, self._tables)
            aggregate = self._aggregates.setdefault(
                name.upper(), AggregateFactory(name, declarations.category, declarations.author)
            )
            _extend(name, aggregate.variants, aggregates)
        for name, tables in declarations.tables.items():
            self._check(name, self._scalars, self._aggregates)
            table = self._tables.setdefault(
                name.upper(), TableFactory(name, declarations.category, declarations.author)
            )
            _extend(name, table.variants, tables)

    def scalar(self, name: str) -> ScalarFactory | None:
        """The scalar function of that name."""
        return self._scalars.get(name.upper())

    def aggregate(self, name: str) -> AggregateFactory | None:
        """The aggregate of that name."""
        return self._aggregates.get(name.upper())

    def table(self, name: str) -> TableFactory | None:
        """The table function of that name."""
        return self._tables.get(name.upper())

    def require_scalar(self, name: str) -> ScalarFactory:
        """The scalar function of that name.

        Raises:
            SqlError: there is none.
        """
        factory = self.scalar(name)
        if factory is None:
            raise SqlError(f"Can't find any functions with the name '{name}'")
        return factory

    def is_aggregate(self, name: str) -> bool:
        """Whether the name is an aggregate's."""
        return name.upper() in self._aggregates

    def is_table_function(self, name: str) -> bool:
        """Whether the name is a table function's."""
        return name.upper() in self._tables

    def exists(self, name: str) -> bool:
        """Whether any function has the name."""
        return name.upper() in self._scalars or self.is_aggregate(name) or self.is_table_function(name)

    def describe(self) -> list[FunctionDescription]:
        """All functions, by name."""
        found = [
            _describe(factory, kind)
            for kind, factories in (
                ("SCALAR", self._scalars.values()),
                ("AGGREGATE", self._aggregates.values()),
                ("TABLE", self._tables.values()),
            )
            for factory in factories
        ]
        return sorted(found, key=lambda description: description.name)

    def copy(self) -> Registry:
        """A registry of the same functions, to add more to."""
        other = Registry()
        other._scalars = {name: replace(mine, variants=[*mine.variants]) for name, mine in self._scalars.items()}
        other._aggregates = {name: replace(mine, variants=[*mine.variants]) for name, mine in self._aggregates.items()}
        other._tables = {name: replace(mine, variants=[*mine.variants]) for name, mine in self._tables.items()}
        return other

    def _check(self, name: str, *others: dict[str, Any]) -> None:
        if any(name.upper() in other for other in others):
            raise SqlError(f"Function already registered as another kind of function: {name.upper()}")


def _extend(name: str, known: list[Any], added: Iterable[Variant]) -> None:
    for variant in added:
        types = [(parameter.type, parameter.variadic) for parameter in variant.signature.parameters]
        for other in known:
            if types == [(parameter.type, parameter.variadic) for parameter in other.signature.parameters]:
                raise SqlError(
                    f"Can't add function {name} with parameters {variant.signature} "
                    "as a function with the same name and parameter types already exists"
                )
        known.append(variant)


def _describe(factory: ScalarFactory | AggregateFactory | TableFactory, kind: str) -> FunctionDescription:
    variants = tuple(
        VariantDescription(
            tuple(map(_describe_argument, variant.signature.parameters)),
            str(variant.signature.returns),
            variant.description,
        )
        for variant in factory.variants
    )
    return FunctionDescription(
        factory.name.upper(), kind, factory.category, variants[0].description, factory.author, variants
    )


def _describe_argument(parameter: Parameter) -> ArgumentDescription:
    return ArgumentDescription(parameter.name, str(parameter.type), parameter.variadic)


def default_registry() -> Registry:
    """A registry of the built-in functions; the caller's own, to add to."""
    return _built_in().copy()


@cache
def _built_in() -> Registry:
    registry = Registry()
    for module in MODULES:
        registry.add(importlib.import_module(f"millstream.sql.functions.{module}").FUNCTIONS)
    return registry
