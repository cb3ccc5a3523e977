"""The shop: writes orders and their events to a database, both or neither.

python -m examples.patterns.transactional_outbox.shop shop.db o1 250 o2 30
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

_TABLES = """
    CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, cents INTEGER NOT NULL CHECK (cents > 0), changes INTEGER);
    -- AUTOINCREMENT: a number is never given again, also after the row was deleted.
    CREATE TABLE IF NOT EXISTS outbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT, order_id TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL
    );
"""


def connect(path: str | Path) -> sqlite3.Connection:
    """The database, with its tables."""
    database = sqlite3.connect(path, timeout=30)
    database.execute("PRAGMA journal_mode=WAL")
    database.executescript(_TABLES)
    return database


def set_price(database: sqlite3.Connection, order: str, cents: int) -> None:
    """Place an order, or change its price.

    Raises:
        sqlite3.IntegrityError: the price is not positive; then there is neither a row nor an event.
    """
    with database:  # one transaction: commits at the end, or rolls back
        database.execute(
            "INSERT INTO outbox (order_id, kind, payload) VALUES (?, 'price-set', ?)",
            (order, json.dumps({"cents": cents})),
        )
        database.execute(
            "INSERT INTO orders VALUES (?, ?, 1)"
            " ON CONFLICT (id) DO UPDATE SET cents = excluded.cents, changes = changes + 1",
            (order, cents),
        )


def main() -> None:
    path, *rest = sys.argv[1:]
    with closing(connect(path)) as database:
        for order, cents in zip(rest[::2], rest[1::2], strict=True):
            set_price(database, order, int(cents))


if __name__ == "__main__":
    main()
