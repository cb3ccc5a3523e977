"""Errors as answers: JSON with primary, detail and hint, and the status that fits."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.errors import (
    KeyRefused,
    MillstreamError,
    OversizedScan,
    StateStoreError,
    UnknownStore,
    ViewError,
    WrongQuery,
)

#: How many seconds a client is asked to wait, where it may try again.
RETRY_AFTER = 1


class Problem(MillstreamError):
    """A request that is not answered.

    Args:
        status: HTTP's number for it.
        kind: a name for programs.
        primary: what is wrong.
        detail: where, and what was seen.
        hint: what to do about it.
        headers: what the answer's headers say about it.
        more: what the answer tells beside.
    """

    #: What the body is; None if the answer does not say.
    media_type: str | None = "application/json"

    def __init__(
        self,
        status: int,
        kind: str,
        primary: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.status = status
        self.kind = kind
        self.headers = headers or {}
        self.more = more or {}

    def body(self) -> dict[str, Any]:
        """What the answer's body says."""
        return {
            "status": self.status,
            "kind": self.kind,
            "primary": self.primary,
            "detail": self.detail,
            "hint": self.hint,
            **self.more,
        }

    def encoded(self) -> bytes:
        """The body as bytes."""
        return msgspec.json.encode(self.body())


class BadRequest(Problem):
    """A request that makes no sense, whatever the server knows."""

    def __init__(self, primary: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(400, "BadRequest", primary, detail=detail, hint=hint)


_STATUS: dict[type[MillstreamError], int] = {
    UnknownStore: 404,
    WrongQuery: 400,
    KeyRefused: 400,
    OversizedScan: 413,
    StateStoreError: 503,  # the copies have failed; other instances may answer
}


def problem_of(error: MillstreamError) -> Problem:
    """An error of Millstream's as the answer to a request.

    >>> problem_of(UnknownStore("there is no store called x")).status
    404
    """
    if isinstance(error, Problem):
        return error
    headers = {}
    if isinstance(error, ViewError) and error.retriable:
        status, headers = 503, {"retry-after": str(RETRY_AFTER)}
    else:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return Problem(status, type(error).__name__, error.primary, detail=error.detail, hint=error.hint, headers=headers)
