"""Holding a table's updates back."""

from __future__ import annotations

from millstream.processors.suppress.buffer import SuppressBuffer, SuppressBufferBuilder
from millstream.processors.suppress.suppress import Suppress
from millstream.processors.suppress.view import SuppressView, suppress_view

__all__ = ["Suppress", "SuppressBuffer", "SuppressBufferBuilder", "SuppressView", "suppress_view"]
