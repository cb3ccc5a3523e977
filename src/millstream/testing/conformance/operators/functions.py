"""The function library of the case format: predicates, mappers, joiners, aggregators ... by name.

All functions work on the texts of their arguments. A name `name:ARG` has the argument after the first colon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.records import Windowed

F = TypeVar("F")

Text = str | None
Predicate = Callable[[Any, Any], bool]
TextMapper = Callable[[Any, Any], Text]
FlatValueMapper = Callable[[Any, Any], list[Text] | None]
PairMapper = Callable[[Any, Any], tuple[Text, Text] | None]
FlatPairMapper = Callable[[Any, Any], list[tuple[Text, Text]] | None]
Joiner = Callable[[Any, Any], Text]
KeyJoiner = Callable[[Any, Any, Any], Text]
Aggregator = Callable[[Any, Any, Any], Text]
Reducer = Callable[[Any, Any], Text]


def text(x: Any) -> Text:
    """The text of a key or value; None stays None.

    >>> text(12)
    '12'
    """
    if x is None or isinstance(x, str):
        return x
    if isinstance(x, Windowed):
        return f"{text(x.key)}@{x.window.start}/{x.window.end}"
    return str(x)


def shown(x: Any) -> str:
    """The text of a key or value inside a longer text.

    >>> shown(None)
    'null'
    """
    t = text(x)
    return "null" if t is None else t


def has(x: Any, part: str) -> bool:
    """Whether the text contains a part; None contains nothing."""
    t = text(x)
    return t is not None and part in t


def initializer() -> str:
    """Every aggregate starts empty."""
    return ""


def session_merger(key: Any, a: Any, b: Any) -> str:
    """Merges two sessions' aggregates."""
    return f"({shown(a)}&{shown(b)})"


def text_transformer(key: Any, value: Any) -> str:
    """What `transform_values` does."""
    return f"{shown(key)}~{shown(value)}"


def predicate(name: str) -> Predicate:
    """A predicate of streams and tables."""
    kind, x = _split(name)

    def throw_if(key: Any, value: Any) -> bool:
        _raise_if(value, x)
        return True

    found: dict[str, Predicate] = {
        "true": lambda key, value: True,
        "false": lambda key, value: False,
        "not-null": lambda key, value: value is not None,
        "even-len": lambda key, value: value is not None and len(shown(value)) % 2 == 0,
        "starts": lambda key, value: value is not None and shown(value).startswith(x),
        "has": lambda key, value: has(value, x),
        "num-even": lambda key, value: (text(value) or "")[-1:] in tuple("02468"),
        "key-in": lambda key, value: (text(key) or "")[:1] in tuple(x),
        "throw-if": throw_if,
    }
    return _pick(found, kind, "predicate", name)


def value_mapper(name: str) -> TextMapper:
    """A mapper of `map_values`, with the key."""
    kind, x = _split(name)

    def throw_if(key: Any, value: Any) -> Text:
        _raise_if(value, x)
        return text(value)

    found: dict[str, TextMapper] = {
        "append": lambda key, value: None if value is None else shown(value) + x,
        "upper": lambda key, value: None if value is None else shown(value).upper(),
        "null-if": lambda key, value: None if has(value, x) else text(value),
        "const": lambda key, value: x,
        "str": lambda key, value: text(value),
        "nvl": lambda key, value: x if value is None else text(value),
        "len": lambda key, value: None if value is None else str(len(shown(value))),
        "kv": lambda key, value: f"{shown(key)}={shown(value)}",
        "throw-if": throw_if,
    }
    return _pick(found, kind, "value mapper", name)


def flat_value_mapper(name: str) -> FlatValueMapper:
    """A mapper of `flat_map_values`, with the key."""
    found: dict[str, FlatValueMapper] = {
        "chars": lambda key, value: list(text(value) or ""),
        "dup": lambda key, value: [text(value), text(value)],
        "drop-empty": lambda key, value: [t] if (t := text(value)) else [],
        "pair": lambda key, value: [shown(value) + "1", shown(value) + "2"],
        "kv-pair": lambda key, value: [f"{shown(key)}={shown(value)}", text(value)],
        "null-list": lambda key, value: None,
    }
    return _pick(found, name, "flat value mapper", name)


def key_mapper(name: str) -> TextMapper:
    """A mapper that gives a new key."""
    kind, x = _split(name)
    found: dict[str, TextMapper] = {
        "first-char": lambda key, value: (text(value) or "")[:1] or None,
        "second-char": lambda key, value: (text(value) or "")[1:2] or None,
        "value-as-key": lambda key, value: text(value),
        "mod-len": lambda key, value: None if value is None else str(len(shown(value)) % int(x)),
        "const": lambda key, value: x,
        "key-text": lambda key, value: text(key),
        "key-only": lambda key, value: text(key.key if isinstance(key, Windowed) else key),
        "key-upper": lambda key, value: None if key is None else shown(key).upper(),
        "null-if": lambda key, value: None if has(value, x) else text(key),
        "null": lambda key, value: None,
    }
    return _pick(found, kind, "key mapper", name)


def pair_mapper(name: str) -> PairMapper:
    """A key-value mapper of `map` and of a table's `group_by`."""
    kind, inner = _split(name)
    rekey = key_mapper(inner) if kind in ("rekey", "rekey-kv") else key_mapper("key-text")
    found: dict[str, PairMapper] = {
        "swap": lambda key, value: (text(value), text(key)),
        "id": lambda key, value: (text(key), text(value)),
        "rekey": lambda key, value: (rekey(key, value), text(value)),
        "rekey-kv": lambda key, value: (rekey(key, value), f"{shown(key)}={shown(value)}"),
        "null-pair": lambda key, value: None,
    }
    return _pick(found, kind, "key-value mapper", name)


def flat_pair_mapper(name: str) -> FlatPairMapper:
    """A key-value mapper of `flat_map`."""
    found: dict[str, FlatPairMapper] = {
        "chars": lambda key, value: [(text(key), c) for c in text(value) or ""],
        "char-keys": lambda key, value: [(c, text(value)) for c in text(value) or ""],
        "dup": lambda key, value: [(text(key), text(value))] * 2,
        "none": lambda key, value: [],
        "null-list": lambda key, value: None,
    }
    return _pick(found, name, "flat key-value mapper", name)


def joiner(name: str) -> Joiner:
    """A joiner of two tables: the values only."""
    with_key = key_joiner(name)
    return lambda left, right: with_key(None, left, right)


def key_joiner(name: str) -> KeyJoiner:
    """A joiner of streams: the key and the values."""
    kind, x = _split(name)

    def pair(left: Any, right: Any) -> str:
        return f"({shown(left)},{shown(right)})"

    found: dict[str, KeyJoiner] = {
        "pair": lambda key, left, right: pair(left, right),
        "key-pair": lambda key, left, right: f"{shown(key)}:{pair(left, right)}",
        "null-if": lambda key, left, right: None if x in pair(left, right) else pair(left, right),
    }
    return _pick(found, kind, "joiner", name)


def aggregator(name: str) -> Aggregator:
    """An aggregator, or the adder or subtractor of a grouped table."""
    kind, x = _split(name)
    found: dict[str, Aggregator] = {
        "concat": lambda key, value, agg: f"{shown(agg)}{shown(value)};",
        "concat-key": lambda key, value, agg: f"{shown(agg)}{shown(key)}={shown(value)};",
        "tag": lambda key, value, agg: f"{shown(agg)}{x}{shown(value)};",
        "reset": lambda key, value, agg: None if has(value, x) else f"{shown(agg)}{shown(value)};",
        "add": lambda key, value, agg: f"{shown(agg)}+{shown(value)}",
        "sub": lambda key, value, agg: f"{shown(agg)}-{shown(value)}",
        "sub-null": lambda key, value, agg: None if has(value, x) else f"{shown(agg)}-{shown(value)}",
    }
    return _pick(found, kind, "aggregator", name)


def reducer(name: str) -> Reducer:
    """A reducer of (aggregate, value), or the adder or subtractor of a grouped table."""
    kind, x = _split(name)
    found: dict[str, Reducer] = {
        "bar": lambda agg, value: f"{shown(agg)}|{shown(value)}",
        "first": lambda agg, value: text(agg),
        "last": lambda agg, value: text(value),
        "max": _greater,
        "null-if": lambda agg, value: None if has(value, x) else f"{shown(agg)}|{shown(value)}",
        "add": lambda agg, value: f"{shown(agg)}+{shown(value)}",
        "sub": lambda agg, value: f"{shown(agg)}-{shown(value)}",
        "sub-null": lambda agg, value: None if has(value, x) else f"{shown(agg)}-{shown(value)}",
    }
    return _pick(found, kind, "reducer", name)


def _greater(agg: Any, value: Any) -> Text:
    # Comparing with None raises a TypeError: the case format wants a failure there.
    a: Any = text(agg)
    b: Any = text(value)
    return a if a >= b else b  # type: ignore[no-any-return]


def _raise_if(value: Any, part: str) -> None:
    if has(value, part):
        message = "boom"
        raise RuntimeError(message)


def _split(name: str) -> tuple[str, str]:
    kind, _, argument = name.partition(":")
    return kind, argument


def _pick(found: dict[str, F], kind: str, what: str, name: str) -> F:
    try:
        return found[kind]
    except KeyError:
        raise LookupError(f"the case format has no {what} '{name}'") from None
