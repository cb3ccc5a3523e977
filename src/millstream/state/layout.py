"""Binary layouts of keys and values, the same as Kafka Streams writes to its changelogs.

    window key       key  start(8)  sequence(4)       sequence counts duplicates, else 0
    session key      key  end(8)    start(8)
    version key      key  timestamp(8)
    timestamped      timestamp(8)  value
    with headers     length(4)  headers  value       value as above; headers are MessagePack, pairs of name and value
    clock            under the key CLOCK_KEY: clock(8)  sequence(4)

Numbers are big-endian, so that bytes sort as numbers do (times are never negative in keys).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

import msgspec

#: A time and a number that tells rows of one key and time apart.
WINDOW_SUFFIX = Struct(">qI")
SESSION_SUFFIX = Struct(">qq")
LONG = Struct(">q")
HEADERS_LENGTH = Struct(">I")

_ENCODE_HEADERS = msgspec.msgpack.Encoder().encode
_DECODE_HEADERS = msgspec.msgpack.Decoder(list[tuple[str, bytes | None]]).decode

#: The log key of a store's own clock. Shorter than any window, session or version key's suffix, so it cannot be one.
CLOCK_KEY = b"clock"

MAX_SEQUENCE = 0x7FFFFFFF


def split_timestamped(key: bytes, data: bytes | None, time: int) -> tuple[bytes, bytes | None, int]:
    """A row with a timestamp as a record of a changelog: its timestamp is the record's.

    Args:
        key: the row's key.
        data: timestamp and value; None deletes.
        time: when it is deleted.
    """
    return (key, None, time) if data is None else (key, data[8:], LONG.unpack_from(data)[0])


def join_timestamped(key: bytes, value: bytes | None, timestamp: int) -> tuple[bytes, bytes | None]:
    """A record of a changelog as a row with a timestamp: the opposite of `split_timestamped`."""
    return key, None if value is None else LONG.pack(timestamp) + value


def split_headers(data: bytes | None) -> tuple[bytes | None, list[tuple[str, bytes | None]] | None]:
    """A row with headers as one without, and its headers (None: it has none)."""
    if data is None:
        return None, None
    end = 4 + HEADERS_LENGTH.unpack_from(data)[0]
    return data[end:], _DECODE_HEADERS(data[4:end]) if end > 4 else None


def join_headers(data: bytes | None, headers: Iterable[tuple[str, bytes | None]] | None) -> bytes | None:
    """A row with headers: the opposite of `split_headers`."""
    if data is None:
        return None
    encoded = _ENCODE_HEADERS(list(headers)) if headers else b""
    return HEADERS_LENGTH.pack(len(encoded)) + encoded + data


def after_prefix(prefix: bytes) -> bytes | None:
    """The least key that is greater than every key with this prefix; None if there is none.

    >>> after_prefix(b"ab"), after_prefix(b"a" + bytes([255])), after_prefix(bytes([255]))
    (b'ac', b'b', None)
    """
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return None
    return stripped[:-1] + bytes([stripped[-1] + 1])


def after(key: bytes) -> bytes:
    """The least key greater than this one."""
    return key + b"\x00"
