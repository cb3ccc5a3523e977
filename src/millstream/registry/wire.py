"""The bytes in front of data whose schema is in a registry: a zero, and the schema's number."""

from __future__ import annotations

import struct

_PREFIX = struct.Struct(">bI")
SIZE = _PREFIX.size


def prefix(schema_id: int) -> bytes:
    """What data of a schema begins with.

    >>> list(prefix(258))
    [0, 0, 0, 1, 2]
    """
    return _PREFIX.pack(0, schema_id)


def schema_id_of(data: bytes) -> int:
    """The number of the schema that data was written with.

    Raises:
        ValueError: it does not begin as it should.
    """
    if len(data) < SIZE or data[0] != 0:
        raise ValueError("Unknown magic byte!")
    return int.from_bytes(data[1:SIZE], "big")
