"""Requests as somebody would send them who means no good."""

from __future__ import annotations

import random


def mutated(chance: random.Random, data: bytes) -> bytes:
    """Some bytes changed, removed, doubled or added."""
    found = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 8))):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(4):
            case 0:
                found[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[at : at + chance.randrange(1, 6)]
            case 2:
                found[at:at] = found[at : at + chance.randrange(1, 200)]
            case _:
                found[at:at] = chance.choice((b"%", b"/", b"?", b"&", b"\x00", b"\xc3\x28", b"%ff", b"A" * 9000))
    return bytes(found)
