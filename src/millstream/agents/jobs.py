"""What an application does beside records: tasks, timers, crontabs, pages and commands, as they were declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, TypeVar

from cronsim import CronSim, CronSimError

from millstream.errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Timer:
    """A function that is called every so often."""

    interval: timedelta
    function: Callable[..., Any]

    def after(self, moment: datetime) -> datetime:
        """When it is due next."""
        return moment + self.interval


@dataclass(frozen=True)
class Crontab:
    """A function that is called at the times of a crontab line."""

    when: str
    timezone: tzinfo
    function: Callable[..., Any]

    def after(self, moment: datetime) -> datetime:
        """When it is due next.

        >>> Crontab("30 18 * * *", UTC, print).after(datetime(2026, 1, 1, 20, tzinfo=UTC))
        datetime.datetime(2026, 1, 2, 18, 30, tzinfo=datetime.timezone.utc)
        """
        return next(CronSim(self.when, moment.astimezone(self.timezone)))


@dataclass(frozen=True)
class Page:
    """A function that answers HTTP requests."""

    path: str
    function: Callable[..., Any]


class Jobs:
    """All of them."""

    def __init__(self) -> None:
        self.tasks: list[Callable[..., Any]] = []
        self.repeated: list[Timer | Crontab] = []
        self.pages: list[Page] = []
        self.commands: dict[str, Callable[..., Any]] = {}

    def task(self, function: F) -> F:
        """Add a task."""
        self.tasks.append(function)
        return function

    def timer(self, interval: timedelta) -> Callable[[F], F]:
        """Add a timer."""
        if interval <= timedelta(0):
            raise ArgumentError("a timer's interval must be positive", detail=f"it is {interval}")
        return self._repeating(lambda function: Timer(interval, function))

    def crontab(self, when: str, timezone: tzinfo | None) -> Callable[[F], F]:
        """Add a crontab."""
        zone = timezone or UTC
        try:
            CronSim(when, datetime.now(zone))
        except CronSimError as error:
            raise ArgumentError(
                f"{when!r} is no line of a crontab",
                detail=str(error),
                hint="it has five fields: minute, hour, day of the month, month, day of the week",
            ) from error
        return self._repeating(lambda function: Crontab(when, zone, function))

    def _repeating(self, make: Callable[[Callable[..., Any]], Timer | Crontab]) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            self.repeated.append(make(function))
            return function

        return decorate
