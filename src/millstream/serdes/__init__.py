"""Bytes to objects and back."""

from millstream.serdes.change import ChangeSerde
from millstream.serdes.json import JsonSerde
from millstream.serdes.lists import ListSerde
from millstream.serdes.namespace import Serdes
from millstream.serdes.serde import AnySerde, Serde
from millstream.serdes.windowed import SessionWindowedSerde, TimeWindowedSerde, WindowedSerde

__all__ = [
    "AnySerde",
    "ChangeSerde",
    "JsonSerde",
    "ListSerde",
    "Serde",
    "Serdes",
    "SessionWindowedSerde",
    "TimeWindowedSerde",
    "WindowedSerde",
]
