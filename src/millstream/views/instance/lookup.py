"""A question put to one open store of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any

from millstream.errors import WrongQuery
from millstream.records import MAX_TIMESTAMP, ValueAndTimestamp, Window
from millstream.serdes.serde import shorten
from millstream.state.keyvalue import KeyValueStore, TimestampedKeyValueStore
from millstream.state.layout import after
from millstream.state.suppliers import StoreKind
from millstream.state.versioned import VersionedKeyValueStore
from millstream.state.window import TimestampedWindowStore
from millstream.views.answers import Row
from millstream.views.queries import (
    CountQuery,
    KeyQuery,
    KeysQuery,
    PrefixQuery,
    Query,
    RangeQuery,
    SessionKeyQuery,
    SessionRangeQuery,
    VersionedKeyQuery,
    VersionsQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)

_KEY_VALUE = (KeyQuery, KeysQuery, RangeQuery, PrefixQuery, CountQuery)
_WINDOW = (WindowKeyQuery, WindowRangeQuery)
_ANSWERED: dict[StoreKind, tuple[type[Any], ...]] = {
    StoreKind.KEY_VALUE: _KEY_VALUE,
    StoreKind.TIMESTAMPED_KEY_VALUE: _KEY_VALUE,
    StoreKind.VERSIONED_KEY_VALUE: (KeyQuery, KeysQuery, VersionedKeyQuery, VersionsQuery),
    StoreKind.WINDOW: _WINDOW,
    StoreKind.TIMESTAMPED_WINDOW: _WINDOW,
    StoreKind.SESSION: (SessionKeyQuery, SessionRangeQuery),
}
_TIMES = ("earliest", "latest", "earliest_end", "latest_start", "as_of")

KeyValue = KeyValueStore[bytes, bytes] | TimestampedKeyValueStore[bytes, bytes]


def check(name: str, kind: StoreKind, query: Query) -> None:
    """Refuse a question that this kind of store does not answer.

    Raises:
        WrongQuery: it does not, or a time in it is none.
    """
    answered = _ANSWERED[kind]
    if not isinstance(query, answered):
        raise WrongQuery(
            f"store '{name}' does not answer a {type(query).__name__}",
            detail=f"it is a {kind.value} store",
            hint=f"ask a {', '.join(question.__name__ for question in answered)}",
        )
    for name_of_time in _TIMES:
        time = getattr(query, name_of_time, None)
        if time is not None and (type(time) is not int or abs(time) > MAX_TIMESTAMP):
            raise WrongQuery(
                f"{name_of_time} cannot be {shorten(time)}", hint="give milliseconds since 1970, as a whole number"
            )
    if isinstance(query, PrefixQuery) and not isinstance(query.prefix, bytes):
        raise WrongQuery(
            f"a prefix cannot be {shorten(query.prefix)}", hint="give the bytes that serialised keys begin with"
        )


def is_of_one_key(query: Query) -> bool:
    """Whether the question is about one key, which lies in one partition."""
    return isinstance(query, KeyQuery | WindowKeyQuery | SessionKeyQuery | VersionedKeyQuery | VersionsQuery)


def rows(store: Any, query: Query, behind: bytes | None = None) -> Iterator[Row]:
    """The rows that answer a question which `check` has let pass.

    Args:
        store: a store of bytes.
        query: a question with keys as bytes.
        behind: only rows of a scan over keys that come after the row of this key.
    """
    match query:
        case KeyQuery(key):
            return _several(store, (key,))
        case KeysQuery(keys):
            return _several(store, keys)
        case RangeQuery(low, high, reverse):
            return _range(store, low, high, reverse, behind)
        case PrefixQuery(prefix):
            return map(_row(store), _of_prefix(store, prefix, behind))
        case WindowKeyQuery(key, earliest, latest, reverse):
            shown = _row(store)
            return (
                shown((key, value))._replace(window=_window(start, store.window_size_ms))
                for start, value in store.fetch_range(key, earliest, latest, reverse)
            )
        case WindowRangeQuery(low, high, earliest, latest, reverse):
            return _windowed(_row(store), store.fetch_keys(low, high, earliest, latest, reverse))
        case SessionKeyQuery(key, earliest, latest, reverse):
            return _windowed(_row(store), store.find_sessions(key, earliest, latest, reverse))
        case SessionRangeQuery(low, high, reverse):
            return _windowed(_row(store), store.fetch_keys(low, high, reverse))
        case VersionedKeyQuery(key, as_of):
            version = store.get(key, as_of)
            return iter(()) if version is None else _versions(key, [version])
        case VersionsQuery(key, earliest, latest, reverse):
            return _versions(key, store.versions(key, earliest, latest, reverse))
        case CountQuery():
            return iter(())


def row(store: Any, key: bytes) -> Row | None:
    """The row of one key of a store of bytes that is no versioned one; None if there is none."""
    value = store.get(key)
    return None if value is None else _row(store)((key, value))


def _several(store: Any, keys: Iterable[bytes]) -> Iterator[Row]:
    if isinstance(store, VersionedKeyValueStore):
        for key in keys:
            version = store.get(key)
            if version is not None:
                yield from _versions(key, [version])
        return
    for key in keys:
        found = row(store, key)
        if found is not None:
            yield found


def _of_prefix(store: KeyValue, prefix: bytes, behind: bytes | None) -> Iterator[tuple[bytes, Any]]:
    if behind is None:
        return store.prefix_scan(prefix, bytes.__bytes__)
    return takewhile(lambda entry: entry[0].startswith(prefix), store.range(max(prefix, after(behind)), None))


def _range(
    store: KeyValue, low: bytes | None, high: bytes | None, reverse: bool, behind: bytes | None
) -> Iterator[Row]:
    if behind is not None and reverse:
        high = behind if high is None else min(high, behind)
    elif behind is not None:
        low = after(behind) if low is None else max(low, after(behind))
    if low is not None and high is not None and low > high:
        return iter(())
    found: Iterator[tuple[bytes, Any]] = store.reverse_range(low, high) if reverse else store.range(low, high)
    return map(_row(store), found if behind is None else (entry for entry in found if entry[0] != behind))


def _row(store: Any) -> Callable[[tuple[Any, Any]], Row]:
    """How a key and what the store shows for it become a row."""
    if isinstance(store, TimestampedKeyValueStore | TimestampedWindowStore):
        return _timestamped
    return _plain


def _plain(entry: tuple[Any, bytes]) -> Row:
    return Row(entry[0], entry[1])


def _timestamped(entry: tuple[Any, ValueAndTimestamp[bytes]]) -> Row:
    return Row(entry[0], *entry[1])


def _window(start: int, size: int) -> Window:
    return Window(start, min(start + size, MAX_TIMESTAMP))


def _windowed(shown: Callable[[tuple[Any, Any]], Row], found: Iterator[tuple[Any, Any]]) -> Iterator[Row]:
    return (shown((windowed.key, value))._replace(window=windowed.window) for windowed, value in found)


def _versions(key: bytes, found: Iterable[Any]) -> Iterator[Row]:
    return (Row(key, value, timestamp, None, valid_to) for value, timestamp, valid_to in found)
