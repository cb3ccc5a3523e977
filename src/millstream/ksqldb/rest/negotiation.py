"""Which format a client wants, by its header Accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.datastructures import Headers

from millstream.ksqldb.rest.errors import PlainRefusal, not_found

JSON = "application/json"
V1 = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"

#: What rows of queries can be sent as; the first is for those who take anything.
ROWS = (DELIMITED, JSON, V1, PROTOBUF)
ACKNOWLEDGEMENTS = (DELIMITED, JSON)
OTHERS = (JSON, V1)


def choose(headers: Headers, offered: Sequence[str], default: str) -> str:
    """The media type that a client likes best of those offered.

    Args:
        headers: of the request.
        offered: media types; among equals the earlier one is taken.
        default: for clients that do not say.

    Raises:
        PlainRefusal: it takes none of them.
    """
    given = ",".join(headers.getlist("accept"))
    if not given.strip():
        return default
    wanted = sorted(_wanted(given))
    for _, _, _, pattern in wanted:
        for media_type in offered:
            if _matches(pattern, media_type):
                return media_type
    raise PlainRefusal(406) if wanted else not_found()


def _wanted(given: str) -> Iterator[tuple[float, int, int, str]]:
    """Patterns of media types, so that the best is the least: by weight, then how exact they are, then in order."""
    for place, part in enumerate(given.split(",")):
        pattern, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = _weight(parameters)
        if "/" in pattern and weight > 0:
            yield -weight, pattern.count("*"), place, pattern


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(float(value), 1.0)
            except ValueError:
                return 1.0
    return 1.0


def _matches(pattern: str, media_type: str) -> bool:
    if pattern == "*/*":
        return True
    kind, _, name = pattern.partition("/")
    return pattern == media_type or (name == "*" and media_type.startswith(f"{kind}/"))
