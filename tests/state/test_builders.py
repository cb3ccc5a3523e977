"""Builders and suppliers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream.errors import ArgumentError, SerdeError
from millstream.serdes import Serdes
from millstream.state import (
    KeyValueStore,
    SessionStore,
    StoreBuilder,
    StoreKind,
    Stores,
    StoreSupplier,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
    WindowStore,
)

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("builder", "store"),
    [
        (Stores.key_value_store(Stores.lru_map("s", 5), Serdes.string, Serdes.long), KeyValueStore),
        (
            Stores.timestamped_key_value_store(Stores.persistent_key_value("s"), Serdes.string, Serdes.long),
            TimestampedKeyValueStore,
        ),
        (
            Stores.versioned_key_value_store(
                Stores.persistent_versioned_key_value("s", MINUTE), Serdes.string, Serdes.long
            ),
            VersionedKeyValueStore,
        ),
        (Stores.window_store(Stores.in_memory_window("s", MINUTE, MINUTE), Serdes.string, Serdes.long), WindowStore),
        (
            Stores.timestamped_window_store(Stores.persistent_window("s", MINUTE, MINUTE), Serdes.string, Serdes.long),
            TimestampedWindowStore,
        ),
        (Stores.session_store(Stores.in_memory_session("s", MINUTE), Serdes.string, Serdes.long), SessionStore),
        (Stores.session_store(Stores.persistent_session("s", MINUTE), Serdes.string, Serdes.long), SessionStore),
    ],
)
def test_builders_build(harness: Any, builder: StoreBuilder, store: type) -> None:
    built = harness.open(builder)
    assert (type(built), built.name, built.logged) == (store, "s", True)
    assert not builder.without_logging().build().logged


def test_options() -> None:
    builder = Stores.key_value_store(Stores.in_memory_key_value("s"))
    assert builder.with_caching().caching
    assert not builder.with_caching().without_caching().caching
    assert builder.with_logging({"a": "b"}).log_config == {"a": "b"}
    assert builder.with_serdes(Serdes.string, Serdes.long).key is Serdes.string
    with pytest.raises(SerdeError, match="no value serde"):
        builder.with_serdes(Serdes.string, None).build()


def test_a_builders_name_goes_before_its_suppliers() -> None:
    supplier = Stores.in_memory_key_value("other")
    assert StoreBuilder("mine", StoreKind.KEY_VALUE, supplier, Serdes.string, Serdes.long).build().name == "mine"


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Stores.persistent_window("s", -MINUTE, MINUTE),
        lambda: Stores.persistent_window("s", MINUTE, 2 * MINUTE),
        lambda: Stores.persistent_window("s", MINUTE, -MINUTE),
        lambda: Stores.in_memory_session("s", -MINUTE),
        lambda: Stores.lru_map("s", 0),
        lambda: Stores.persistent_versioned_key_value("s", -MINUTE),
        lambda: Stores.persistent_versioned_key_value("s", MINUTE, timedelta(0)),
        lambda: Stores.persistent_key_value(""),
        lambda: Stores.window_store(Stores.persistent_key_value("s")),
        lambda: Stores.session_store(Stores.persistent_key_value("s")),
        lambda: Stores.versioned_key_value_store(Stores.persistent_key_value("s")),
        lambda: StoreSupplier("s", retention_ms=-1),
        lambda: StoreSupplier("s", segment_interval_ms=0),
    ],
)
def test_what_cannot_work_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError):
        bad()
