"""How something did in the last minutes: figures that are noted now and then."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from millstream.errors import MillstreamError

#: How often figures are noted, and how many of these notes are kept: ten minutes.
SAMPLE_SECONDS = 5.0
_SAMPLES = 120

#: By name, how many records are `processed` so far, and whatever else there is to say now, such as the `lag`.
Figures = Mapping[str, Mapping[str, float]]


class History:
    """Notes figures from `start` to `close`.

    Args:
        figures: what to note.
        clock: seconds since the epoch.
    """

    def __init__(self, figures: Callable[[], Figures], clock: Callable[[], float] = time.time) -> None:
        self._figures = figures
        self._clock = clock
        self._samples: deque[tuple[float, Figures]] = deque(maxlen=_SAMPLES)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="millstream-console", daemon=True)

    def start(self) -> None:
        """Begin to take notes."""
        self._thread.start()

    def close(self) -> None:
        """Take no more notes."""
        self._closing.set()

    def sample(self) -> None:
        """Note what is now."""
        self._samples.append((self._clock(), {name: dict(found) for name, found in self._figures().items()}))

    def rates(self) -> dict[str, float]:
        """Records a second, lately."""
        samples = list(self._samples)
        if len(samples) < 2:
            return {}
        return {name: _rate(samples[-2], samples[-1], name) for name in samples[-1][1]}

    def told(self, after: int | None = None) -> dict[str, Any]:
        """The last minutes: times, and by name the records a second (`rates`), and all other figures.

        Args:
            after: only what was noted after this time, in milliseconds since the epoch.
        """
        samples = list(self._samples)
        if after is not None:
            known = sum(int(at * 1000) <= after for at, _ in samples)
            samples = samples[max(0, known - 1) :]  # rates are from one note to another
        names = sorted({name for _, found in samples for name in found})
        kinds = {kind for _, found in samples for figures in found.values() for kind in figures}
        rates = {name: [_rate(before, after, name) for before, after in itertools.pairwise(samples)] for name in names}
        return {
            "times": [int(at * 1000) for at, _ in samples[1:]],
            "rates": rates,
            **{
                kind: {name: [found.get(name, {}).get(kind, 0.0) for _, found in samples[1:]] for name in names}
                for kind in sorted(kinds - {"processed"})
            },
        }

    def _run(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(MillstreamError):  # the broker is away, and there is a gap
                self.sample()
            self._closing.wait(SAMPLE_SECONDS)


def _rate(before: tuple[float, Figures], after: tuple[float, Figures], name: str) -> float:
    seconds = max(after[0] - before[0], 0.001)
    earlier, later = (sample[1].get(name, {}).get("processed", 0.0) for sample in (before, after))
    return round(max(0.0, later - earlier) / seconds, 1)  # who begins anew counts from zero
