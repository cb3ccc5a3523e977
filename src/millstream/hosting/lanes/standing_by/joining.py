"""When a lane joins the others.

The group gives a lane that comes its share at once, also the tasks of one that is gone, which others have in reserve
and it has not. So a lane that comes to others that are at work waits: until those that are gone are known to be, and
until it has in reserve itself what it is likely to get.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from millstream.config import client_properties
from millstream.hosting.lanes.settings import SESSION_MS, LaneSettings
from millstream.hosting.lanes.standing_by.group import Member

log = logging.getLogger("millstream.lanes")

#: It does not wait for ever, whatever it waits for.
_LONGEST_SECONDS = 1800.0
_BLIND_SECONDS = 30.0


class Joining:
    """Whether a lane may join. Asked by the lane, decided in the thread that stands by.

    Args:
        settings: which lane it is.
    """

    def __init__(self, settings: LaneSettings) -> None:
        self._settings = settings
        session = client_properties(settings.config, "main.consumer").get("session.timeout.ms", SESSION_MS)
        #: Who is still in the group after that is alive.
        self._session = float(session) / 1000 + 1.0
        self._may = threading.Event()
        self._waits = False
        self._begun: float | None = None
        self._seen_at = 0.0
        self._seen: frozenset[str] = frozenset()
        self._since = 0.0

    @property
    def is_over(self) -> bool:
        """Whether it may join, or has."""
        return self._may.is_set()

    @property
    def waits(self) -> bool:
        """Whether others are at work, and it does not join them yet."""
        return self._waits and not self._may.is_set()

    def consider(
        self, members: Sequence[Member] | None, lags: Sequence[int | None], now: float, *, has_all: bool
    ) -> None:
        """Decide.

        Args:
            members: the group; None: nobody knows just now.
            lags: how many records those lack that this lane has in reserve; None: not known.
            now: by the monotonic clock.
            has_all: whether it has in reserve all that it should.
        """
        if self._begun is None:
            self._begun = self._seen_at = now
        if members is None:
            self._since = now
            if now > self._seen_at + _BLIND_SECONDS:
                self._may.set()
            return
        self._seen_at = now
        names = frozenset(member.id for member in members)
        if names != self._seen:
            self._seen, self._since = names, now
        if not any(self._is_at_work(member) for member in members):
            self._may.set()
            return
        self._waits = True
        most = self._settings.config.acceptable_recovery_lag
        is_warm = has_all and all(lag is not None and lag <= most for lag in lags)
        if (is_warm and now >= self._since + self._session) or now > self._begun + _LONGEST_SECONDS:
            log.info("this lane has its share in reserve, and joins the others")
            self._may.set()

    def _is_at_work(self, member: Member) -> bool:
        """Whether a member was there before this lane, and not only started with it."""
        settings = self._settings
        return settings.is_replacement or not member.client.startswith(f"{settings.service}-{settings.server}-")
