"""Finding the topology in a user's file or module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from millstream.agents.app import App
from millstream.config import StreamsConfig
from millstream.dsl.builder import StreamsBuilder
from millstream.errors import ArgumentError, MillstreamError
from millstream.topology.topology import Topology

_NAMES = ("topology", "build", "builder", "app")  # looked for in this order


@dataclass(frozen=True)
class Application:
    """What a user's file holds.

    Args:
        topology: its topology.
        config: the `StreamsConfig` called `config`, if there is one, or that of its agents.
        name: a short name of the file or module.
        app: its agents, if it is an application of such.
    """

    topology: Topology
    config: StreamsConfig | None
    name: str
    app: App | None = None


def load_application(reference: str) -> Application:
    """Load a topology.

    Args:
        reference: `path/to/app.py` or `package.module`, and if need be `:name` of a Topology, of a StreamsBuilder, of
            an App of agents, or of a function that returns a topology. Without a name, it is the one called `topology`,
            `build`, `builder` or `app`, or the only one there is.
    """
    location, _, attribute = reference.partition(":")
    module = load_module(location)
    config = getattr(module, "config", None)
    if not isinstance(config, StreamsConfig):
        config = None
    name = attribute or _only_candidate(module, location)
    if not hasattr(module, name):
        raise ArgumentError(f"{location} has no {name}", hint=_what_to_write(location))
    found = getattr(module, name)
    if isinstance(found, App):
        return Application(found.topology(), found.conf.streams, Path(location).stem, found)
    return Application(_topology(found, f"{location}:{name}", config), config, Path(location).stem)


def load_module(location: str) -> ModuleType:
    """Load a user's code.

    Args:
        location: `path/to/file.py`, or `package.module`, which is also looked for in the current directory.
    """
    return _load_file(Path(location)) if location.endswith(".py") or "/" in location else _load_module(location)


def _load_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ArgumentError(f"there is no file {path}")
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if Path(getattr(known, "__file__", None) or "").resolve() == path:
            return known
        raise ArgumentError(f"{path.name} cannot be loaded", detail=f"there is another module {name}", hint="rename it")
    # As `python app.py` does: what lies beside the file can be imported.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path} cannot be loaded", hint="give a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    try:
        _run(lambda: loader.exec_module(module), path.name)
    except BaseException:
        del sys.modules[name]
        raise
    # As those of `python app.py` do, its functions go along: Spark's workers would find the file only if it lay in the
    # current directory.
    cloudpickle.register_pickle_by_value(module)
    return module


def _load_module(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise ArgumentError(
            f"there is no module {name}",
            detail=f"looked for in {Path.cwd()} and on PYTHONPATH",
            hint="give the path of a file, app.py, or the name of a module: package.module",
        )
    loaded: ModuleType = _run(lambda: importlib.import_module(name), name)
    return loaded


def _only_candidate(module: ModuleType, location: str) -> str:
    for name in _NAMES:
        found = getattr(module, name, None)
        if isinstance(found, Topology | StreamsBuilder | App) or (callable(found) and not isinstance(found, type)):
            return name
    for kind in (Topology, StreamsBuilder, App):
        names = [name for name, value in vars(module).items() if isinstance(value, kind)]
        if len(names) > 1:
            raise ArgumentError(
                f"{location} has several topologies: {', '.join(names)}", hint=f"say which one: {location}:{names[0]}"
            )
        if names:
            return names[0]
    raise ArgumentError(f"{location} has no topology", hint=_what_to_write(location))


def _topology(found: Any, where: str, config: StreamsConfig | None) -> Topology:
    if callable(found) and not isinstance(found, Topology | StreamsBuilder):
        found = _run(found, where)
    if isinstance(found, StreamsBuilder):
        return found.build(config)
    if isinstance(found, Topology):
        return found
    raise ArgumentError(
        f"{where} is no topology",
        detail=f"it is of type {type(found).__name__}",
        hint="give a Topology, a StreamsBuilder, or a function without arguments that returns one",
    )


def _run(function: Callable[[], Any], what: str) -> Any:
    """Run the user's code. What it raises is told in one line, with the place where it was raised."""
    try:
        return function()
    except MillstreamError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = str(Path(__file__).parent.parent)
        theirs = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen"))]
        place = f" at {theirs[-1].filename}:{theirs[-1].lineno}" if theirs else ""
        raise ArgumentError(f"{what} cannot be loaded", detail=f"{type(error).__name__}: {error}{place}") from error


def _what_to_write(location: str) -> str:
    return f"define `topology = builder.build()` in it, or name what there is: {location}:name"
