"""Sentences of messages that several rules share."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.errors import Location, SqlError
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.format import format_expression

#: What users who write a pull query may have wanted.
PULL_HELP = " See https://cnfl.io/queries for more info.\nAdd EMIT CHANGES if you intended to issue a push query."

_SYNTHETIC_KEYS_URL = "https://cnfl.io/2LV7ouS"


def listed(parts: Sequence[str], last: str) -> str:
    """Parts with commas between them, and a word before the last.

    >>> listed(["a", "b", "c"], " or ")
    'a, b or c'
    """
    return last.join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def place(location: Location | None) -> str:
    """Where something was written, at the beginning of a message.

    >>> place(Location(2, 13))
    'Line: 2, Col: 13: '
    """
    return "" if location is None else f"Line: {location.line}, Col: {location.column}: "


def key_more_than_once(which: str) -> SqlError:
    """A projection that holds a key column twice."""
    return SqlError(
        f"The projection contains {which}.\n"
        "Each key column must only be in the projection once. "
        "If you intended to copy the key into the value, then consider using the "
        "AS_VALUE function to indicate which key reference should be copied."
    )


def keys_missing(
    sink: str, what: str, keys: Sequence[Expression], *, all_needed: bool = True, synthetic: bool = False
) -> SqlError:
    """A projection without the key columns."""
    names = [format_expression(key) for key in keys]
    plural = "s" if all_needed and len(keys) > 1 else ""
    what += "" if len(keys) == 1 else "s"
    wanted = listed(names, " and " if all_needed else " or ")
    example = ", ".join(names) if all_needed else names[0]
    see = f"See {_SYNTHETIC_KEYS_URL}." if synthetic else ""
    explained = (
        f"\n{names[0]} was added as a synthetic key column because the join criteria did not match any source column. "
        "This expression must be included in the projection and may be aliased. "
        if synthetic
        else ""
    )
    return SqlError(
        f"Key{plural} missing from projection (ie, SELECT). {see}\n"
        f"The query used to build {quote(sink)} must include the {what} {wanted} in its projection "
        f"(eg, SELECT {example}...).{explained}"
    )
