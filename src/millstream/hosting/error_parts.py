"""Errors on their way from one process to another: nothing but text."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from millstream import errors
from millstream.errors import MillstreamError, StreamsError
from millstream.kafka import errors as kafka_errors


@dataclass(frozen=True)
class ErrorParts:
    """An error.

    Args:
        type: the name of its class.
        primary: see `MillstreamError`.
        detail: see `MillstreamError`.
        hint: see `MillstreamError`.
        traceback: where it came from; empty if it says that itself.
    """

    type: str
    primary: str
    detail: str | None
    hint: str | None
    traceback: str

    @classmethod
    def of(cls, error: Exception) -> ErrorParts:
        """The parts of an error, which is being handled."""
        name = type(error).__name__
        if not isinstance(error, MillstreamError):
            return cls(name, f"{name}: {error}", None, None, _story(error))
        return cls(name, error.primary, error.detail, error.hint, "" if error.__cause__ is None else _story(error))

    def error(self) -> MillstreamError:
        """The error of these parts; of a class that others know."""
        kind = getattr(errors, self.type, None) or getattr(kafka_errors, self.type, StreamsError)
        if not (isinstance(kind, type) and issubclass(kind, MillstreamError)):
            kind = StreamsError
        error: MillstreamError = kind(self.primary or "a lane failed", detail=self.detail, hint=self.hint)
        return error


def _story(error: Exception) -> str:
    return "".join(traceback.format_exception(error))
