"""Parameters of a request, each read once and checked; what is not known is refused, as it is most likely misspelt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from millstream.records import MAX_TIMESTAMP
from millstream.server.problems import BadRequest
from millstream.views.queries import Position, Requirements

#: What every question may be asked with.
REQUIREMENTS = ("min_position", "max_staleness", "standby", "partitions", "limit")

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d{1,15})(ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_MOST_PARAMETERS = 2000


class Parameters:
    """The query of a URL.

    Args:
        query: the part after the question mark.
        headers: the request's headers, which may say what is required, too; names in lower case.
        known: the parameters that this path has, beside those of `REQUIREMENTS`.
        repeated: those of them that may come several times.
    """

    def __init__(
        self,
        query: bytes,
        headers: Mapping[str, str],
        known: Iterable[str] = (),
        repeated: Iterable[str] = (),
    ) -> None:
        self._headers = headers
        self._repeated: dict[str, list[str]] = {name: [] for name in repeated}
        self._given: dict[str, str] = {}
        names = {*known, *self._repeated, *REQUIREMENTS}
        for name, value in _pairs(query):
            if name in self._repeated:
                self._repeated[name].append(value)
            elif name not in names:
                raise _unknown(name, names)
            elif name in self._given:
                raise BadRequest(f"the parameter {name} was given twice", hint="give it once")
            else:
                self._given[name] = value

    def text(self, name: str) -> str | None:
        """A parameter as it is."""
        return self._given.get(name)

    def texts(self, name: str) -> list[str]:
        """A parameter that may come several times."""
        return self._repeated[name]

    def has(self, *names: str) -> bool:
        """Whether one of them was given."""
        return any(name in self._given for name in names)

    def flag(self, name: str) -> bool:
        """`true` or `false`; false if it was not given."""
        return _flag(name, self._given.get(name))

    def time(self, name: str) -> int | None:
        """A time: milliseconds since 1970, or ISO 8601, which is UTC where it has no offset."""
        text = self._given.get(name)
        return None if text is None else time_of(text, name)

    def times(self) -> tuple[int, int]:
        """`from` and `to`; what is left out is the beginning and the end of time."""
        earliest, latest = self.time("from"), self.time("to")
        earliest, latest = 0 if earliest is None else earliest, MAX_TIMESTAMP if latest is None else latest
        if earliest > latest:
            raise BadRequest(
                "the time `from` is after the time `to`", detail=f"from is {earliest}, to is {latest}", hint="swap them"
            )
        return earliest, latest

    def requirements(self) -> Requirements:
        """What the caller requires of the answer, by parameter or by header (`Min-Position`, ...)."""
        staleness, partitions = self._required("max_staleness"), self._required("partitions")
        limit = self._required("limit")
        return Requirements(
            bound=_position(self._required("min_position")),
            max_staleness=None if staleness is None else timedelta(milliseconds=duration_of(staleness)),
            allow_standby=_flag("standby", self._required("standby")),
            partitions=None if partitions is None else frozenset(map(_partition, partitions.split(","))),
            limit=None if limit is None else _limit(limit),
        )

    def _required(self, name: str) -> str | None:
        given = self._given.get(name)
        return self._headers.get(name.replace("_", "-")) if given is None else given


def time_of(text: str, name: str) -> int:
    """A time that a text means, in milliseconds.

    >>> time_of("1970-01-01T00:00:01Z", "from"), time_of("1000", "from")
    (1000, 1000)
    """
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        found = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        found = -1
    if found < 0:
        raise BadRequest(
            f"{name} is no time",
            detail=f"it is {text[:80]!r}",
            hint="give milliseconds since 1970, or ISO 8601 such as 2026-01-31T12:00:00Z",
        )
    return found


def duration_of(text: str) -> int:
    """A duration that a text means, in milliseconds.

    >>> duration_of("250"), duration_of("250ms"), duration_of("2s")
    (250, 250, 2000)
    """
    if _WHOLE.fullmatch(text) and len(text) <= 15:
        return int(text)
    found = _DURATION.fullmatch(text)
    result = int(found[1]) * _UNITS[found[2]] if found else None
    if result is None or result > 10**12:
        raise BadRequest(
            "max_staleness is no duration", detail=f"it is {text[:80]!r}", hint="give milliseconds, or 250ms, 2s, 5m"
        )
    return result


def text_of_path(raw: bytes) -> str:
    """A part of a path as text.

    Raises:
        BadRequest: it is not UTF-8.
    """
    return _decoded(unquote_to_bytes(raw))


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        given = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except UnicodeDecodeError as error:
        raise _not_utf8() from error
    except ValueError as error:
        raise BadRequest("there are too many parameters", hint="ask for fewer keys at a time") from error
    return given


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8() from error


def _not_utf8() -> BadRequest:
    return BadRequest("the URL is not UTF-8", hint="percent-encode the UTF-8 bytes of what is not ASCII")


def _unknown(name: str, names: set[str]) -> BadRequest:
    near = difflib.get_close_matches(name[:40], names, n=1)
    return BadRequest(
        f"there is no parameter {name[:80]}",
        detail=f"there are {', '.join(sorted(names))}",
        hint=f"did you mean {near[0]}?" if near else "/docs says what each is for",
    )


def _flag(name: str, text: str | None) -> bool:
    if text in (None, "false"):
        return False
    if text == "true":
        return True
    raise BadRequest(f"{name} is neither true nor false", detail=f"it is {text[:80]!r}" if text else "it is empty")


def _limit(text: str) -> int:
    if not _WHOLE.fullmatch(text) or int(text) < 1:
        raise BadRequest("limit is no number of rows", detail=f"it is {text[:80]!r}", hint="give 1 or more")
    return int(text)


def _partition(text: str) -> int:
    if not _WHOLE.fullmatch(text) or int(text) > 2**31:
        raise BadRequest(
            "partitions is no list of partitions", detail=f"it has {text[:80]!r}", hint="give numbers: 0,3,7"
        )
    return int(text)


def _position(text: str | None) -> Position | None:
    if text is None:
        return None
    try:
        offsets: dict[str, dict[int, int]] = _positions.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise BadRequest(
            "min_position is no position",
            detail=str(error),
            hint='give what an answer calls position: {"topic": {"0": 17}}',
        ) from error
    return Position(offsets)


_positions: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, dict[int, int]])
