"""The processors of the case format, written with the Processor API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from millstream import FixedKeyProcessor, Processor, PunctuationType, Serdes, Stores
from millstream.records import FixedKeyRecord, Record
from millstream.testing.conformance.case import Json
from millstream.testing.conformance.operators.functions import shown, text


class Supplier:
    """Makes a processor for every task and brings the store it uses."""

    def __init__(self, make: Callable[[], Any], *stores: Any) -> None:
        self._make = make
        self._stores = stores

    def __call__(self) -> Any:
        """A new processor."""
        return self._make()

    def stores(self) -> Sequence[Any]:
        """The builders of its stores."""
        return self._stores


class Simple(Processor[Any, Any, Any, Any]):
    """Forwards what a function makes of a record."""

    def __init__(self, results: Callable[[Any, Record[Any, Any]], list[Record[Any, Any]]]) -> None:
        self._results = results

    def process(self, record: Record[Any, Any]) -> None:
        """Forward the results in order."""
        for result in self._results(self.context, record):
            self.context.forward(result)


class Counter(Processor[str, Any, str, str]):
    """Counts records by key in a store and tells the counts at punctuations."""

    def __init__(self, op: Json) -> None:
        self._store_name: str = op["store"]
        self._interval = timedelta(milliseconds=op["interval_ms"])
        self._punctuate: str = op["punctuate"]
        self._delete_at: int | None = op.get("delete_at")

    def init(self, context: Any) -> None:
        """Schedule the punctuations; stream time first."""
        super().init(context)
        self._store = context.state_store(self._store_name)
        if self._punctuate in ("stream_time", "both"):
            context.schedule(self._interval, PunctuationType.STREAM_TIME, lambda now: self._tell("s", now))
        if self._punctuate in ("wall_clock", "both"):
            context.schedule(self._interval, PunctuationType.WALL_CLOCK_TIME, lambda now: self._tell("w", now))

    def process(self, record: Record[str, Any]) -> None:
        """Count the record; a null value forgets its key."""
        if record.key is None:
            return
        if record.value is None:
            self._store.delete(record.key)
        else:
            self._store.put(record.key, (self._store.get(record.key) or 0) + 1)

    def _tell(self, tag: str, now: int) -> None:
        for key, count in list(self._store.all()):
            self.context.forward(Record(key, f"{tag}{count}@{now}", now))
            if self._delete_at is not None and count >= self._delete_at:
                self._store.delete(key)


class SimpleValues(FixedKeyProcessor[Any, Any, Any]):
    """Forwards a record with a value made by a function."""

    def __init__(self, value: Callable[[Any, FixedKeyRecord[Any, Any]], str]) -> None:
        self._value = value

    def process(self, record: FixedKeyRecord[Any, Any]) -> None:
        """Forward the record with its new value."""
        self.context.forward(record.with_value(self._value(self.context, record)))


class Dedup(FixedKeyProcessor[str, Any, Any]):
    """Forwards a record if its value differs from the last one of its key."""

    def __init__(self, store: str) -> None:
        self._store_name = store

    def init(self, context: Any) -> None:
        """Open the store."""
        super().init(context)
        self._store = context.state_store(self._store_name)

    def process(self, record: FixedKeyRecord[str, Any]) -> None:
        """Compare, remember, forward."""
        value = text(record.value)
        if record.key is None or self._store.get(record.key) == value:
            return
        self._store.put(record.key, value)
        self.context.forward(record)


def processor(op: Json) -> Supplier:
    """The supplier of a `process` operator."""
    name, _, argument = op["fn"].partition(":")
    if name == "counter":
        builder = Stores.key_value_store(Stores.in_memory_key_value(op["store"]), Serdes.string, Serdes.long)
        return Supplier(lambda: Counter(op), builder)

    def add_header(_: Any, record: Record[Any, Any]) -> list[Record[Any, Any]]:
        header, _, value = argument.partition("=")
        headers = record.headers.copy()
        headers.add(header, value.encode())
        return [record.with_headers(headers)]

    def times(context: Any, record: Record[Any, Any]) -> list[Record[Any, Any]]:
        clocks = f"~st{context.current_stream_time_ms()}~wc{context.current_system_time_ms()}"
        return [record.with_value(shown(record.value) + clocks)]

    simple: dict[str, Callable[[Any, Record[Any, Any]], list[Record[Any, Any]]]] = {
        "forward": lambda _, record: [record],
        "add-header": add_header,
        "shift-ts": lambda _, record: [record.with_timestamp(max(0, record.timestamp + int(argument)))],
        "twice": lambda _, record: [record, record.with_value(shown(record.value) + "'")],
        "times": times,
    }
    if name not in simple:
        raise LookupError(f"the case format has no processor '{op['fn']}'")
    return Supplier(lambda: Simple(simple[name]))


def values_processor(op: Json) -> Supplier:
    """The supplier of a `process_values` operator."""
    name, _, argument = op["fn"].partition(":")
    if name == "dedup":
        builder = Stores.key_value_store(Stores.in_memory_key_value(op["store"]), Serdes.string, Serdes.string)
        return Supplier(lambda: Dedup(op["store"]), builder)

    def meta(context: Any, record: FixedKeyRecord[Any, Any]) -> str:
        where = context.record_metadata()
        return f"{shown(record.value)}#{shown(where.topic)}:{where.partition}:{where.offset}"

    def header(_: Any, record: FixedKeyRecord[Any, Any]) -> str:
        value = record.headers.last(argument)
        return f"{shown(record.value)}^{shown(None if value is None else value.decode())}"

    simple: dict[str, Callable[[Any, FixedKeyRecord[Any, Any]], str]] = {"meta": meta, "header": header}
    if name not in simple:
        raise LookupError(f"the case format has no fixed-key processor '{op['fn']}'")
    return Supplier(lambda: SimpleValues(simple[name]))
