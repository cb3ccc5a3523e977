"""What is kept of a task, with the version of its layout in front."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from millstream.errors import StateStoreError


class Versioned(msgspec.Struct, array_like=True, frozen=True):
    """Something that is kept.

    Args:
        version: of its layout.
    """

    version: int


_T = TypeVar("_T", bound=Versioned)


def decode_versioned(data: bytes, layout: type[_T], version: int, what: str) -> _T:
    """Read what was kept.

    Args:
        data: the bytes.
        layout: what they hold.
        version: the one that this release reads.
        what: its name for people.

    Raises:
        StateStoreError: it is damaged, or of a later release.
    """
    try:
        kept = msgspec.msgpack.decode(data, type=layout)
    except msgspec.MsgspecError as error:
        raise StateStoreError(f"{what} cannot be read", detail=str(error)) from error
    if kept.version != version:
        raise StateStoreError(
            f"{what} has an unknown layout",
            detail=f"version {kept.version}; this release reads {version}",
            hint="it was written by a later release of Millstream",
        )
    return kept
