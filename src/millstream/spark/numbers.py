"""What is counted while an application runs."""

from __future__ import annotations

from typing import Any, Protocol


class Numbers(Protocol):
    """Whoever counts it."""

    def totals(self) -> dict[str, float]:
        """Numbers of the whole application, by Kafka Streams' names where there are such."""

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The last that each task told."""

    def span(self) -> tuple[float, float, float]:
        """When the first record was read, when results were last made final and when first, in seconds since 1970."""
