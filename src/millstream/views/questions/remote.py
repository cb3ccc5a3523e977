"""Asking another instance. How that is done is none of the views' business."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from millstream.views.answers import Answer, Instance
from millstream.views.queries import Query, Requirements


class Remote(Protocol):
    """Brings a question to another instance, where `Views.ask_here` answers it."""

    def ask(
        self,
        instance: Instance,
        store: str,
        query: Query,
        requirements: Requirements,
        partitions: Collection[int],
    ) -> Answer:
        """The answer of another instance for these partitions; keys and values are bytes on both ways.

        Raises:
            ViewError: what `ask_here` raised there.
            InstanceUnreachable: nobody answers there.
        """
