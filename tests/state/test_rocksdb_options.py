"""`rocksdb_config_setter`: the user's own options of RocksDB."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rocksdict import Options

from millstream import (
    ArgumentError,
    Consumed,
    Materialized,
    Serdes,
    SessionWindows,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    TableJoined,
    TimeWindows,
)
from millstream.testing import TopologyTestDriver

TEXT = (Serdes.string, Serdes.string)
MINUTE = timedelta(minutes=1)


def test_every_database_is_opened_with_options_that_can_be_changed(tmp_path: Path) -> None:
    asked: list[str] = []

    def smaller(store: str, options: Any) -> None:
        assert isinstance(options, Options)
        options.set_db_write_buffer_size(1_000_000)
        asked.append(store)

    builder = StreamsBuilder()
    users = builder.table("users", Consumed(*TEXT), Materialized("users"))
    versions = Materialized(store=Stores.persistent_versioned_key_value("versions", MINUTE))
    orders = builder.table("orders", Consumed(*TEXT), versions)
    orders.join(users, lambda one, other: one, foreign_key=lambda order: order, table_joined=TableJoined(name="j"))
    clicks = builder.stream("clicks", Consumed(*TEXT)).group_by_key()
    clicks.windowed_by(TimeWindows.of_size(MINUTE)).count(Materialized("windows"))
    clicks.windowed_by(SessionWindows.of_inactivity_gap(MINUTE)).count(Materialized("sessions"))
    builder.table("small", Consumed(*TEXT), Materialized("small", dsl_store="in_memory"))
    config = StreamsConfig(state_dir=tmp_path, statestore_memory_max_bytes=0, rocksdb_config_setter=smaller)
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("clicks", *TEXT).pipe("a", "x")
        (log,) = tmp_path.glob("**/windows/LOG")
        assert "db_write_buffer_size: 1000000" in log.read_text()
    assert sorted(asked) == ["j-subscription-store", "sessions", "users", "versions", "windows"]


def test_it_is_a_function() -> None:
    with pytest.raises(ArgumentError, match="rocksdb_config_setter"):
        StreamsConfig(rocksdb_config_setter="small")  # type: ignore[arg-type]
