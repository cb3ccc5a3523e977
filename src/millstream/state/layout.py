"""Binary layouts of keys and values, the same as Kafka Streams writes to its changelogs.

    window key       key  start(8)  sequence(4)       sequence counts duplicates, else 0
    session key      key  end(8)    start(8)
    version key      key  timestamp(8)
    timestamped      timestamp(8)  value
    clock            under the key CLOCK_KEY: clock(8)  sequence(4)

Numbers are big-endian, so that bytes sort as numbers do (times are never negative in keys).
"""

from __future__ import annotations

from struct import Struct

#: A time and a number that tells rows of one key and time apart.
WINDOW_SUFFIX = Struct(">qI")
SESSION_SUFFIX = Struct(">qq")
LONG = Struct(">q")

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
