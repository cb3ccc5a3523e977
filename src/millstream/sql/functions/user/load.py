"""Users' functions, from their modules into a registry."""

from __future__ import annotations

import importlib
import inspect
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.registry import Registry
from millstream.sql.functions.user.aggregates import aggregate_variants
from millstream.sql.functions.user.declare import UserFunction, declared_in
from millstream.sql.functions.user.functions import scalar_variants, table_variants

#: A module, its name, or something declared in one.
Source = ModuleType | str | Callable[..., Any]

_CATEGORY = "OTHER"


def add_user_functions(registry: Registry, sources: Iterable[Source]) -> None:
    """Adds the functions that modules declare.

    Args:
        registry: gets them.
        sources: the modules, their names, or single functions and classes.

    Raises:
        SqlError: a module cannot be loaded or declares nothing, a declaration is wrong, or a name is taken.
    """
    # A single name is a sequence of letters, which nobody means.
    for source in [sources] if isinstance(sources, str) else sources:
        for function in _functions(source):
            declarations = Declarations(_CATEGORY, function.target.__module__)
            _declare(declarations, function)
            try:
                registry.add(declarations)
            except SqlError as error:
                raise function.origin.refuse(error.primary) from error


def _declare(declarations: Declarations, function: UserFunction) -> None:
    name = function.origin.name
    if function.kind == "udf":
        declarations.scalars[name] = scalar_variants(function)
    elif function.kind == "udtf":
        declarations.tables[name] = table_variants(function)
    else:
        declarations.aggregates[name] = aggregate_variants(function)


def _functions(source: Source) -> Iterator[UserFunction]:
    if isinstance(source, str):
        try:
            source = importlib.import_module(source)
        except ImportError as error:
            raise SqlError(f"The module of functions '{source}' cannot be loaded: {error}") from error
    if isinstance(source, ModuleType):
        functions = declared_in(vars(source))
        if not functions:
            raise SqlError(
                f"The module '{source.__name__}' declares no functions",
                hint="Decorate them with @udf, @udaf or @udtf.",
            )
        _ship(source)
        yield from functions
        return
    names: Mapping[str, Any] = getattr(source, "__globals__", None) or vars(sys.modules[source.__module__])
    found = [function for function in declared_in(dict(names)) if function.target is source]
    if not found:
        raise SqlError(
            f"{source!r} is not declared as a function of SQL", hint="Decorate it with @udf, @udaf or @udtf."
        )
    module = inspect.getmodule(source)
    if module is not None:
        _ship(module)
    yield from found


def _ship(module: ModuleType) -> None:
    """Has the module's functions sent to workers whole: what is not installed cannot be imported there."""
    file = getattr(module, "__file__", None)
    if module.__name__ == "__main__" or file is None:
        return
    installed = [*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values()]
    if not any(Path(file).is_relative_to(directory) for directory in installed):
        cloudpickle.register_pickle_by_value(module)
