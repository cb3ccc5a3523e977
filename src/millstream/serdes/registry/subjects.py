"""Under which subject a schema is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from millstream.errors import ArgumentError, SerdeError

Strategy = Literal["topic", "record", "topic_record"]
#: A strategy, or a function of the topic, whether it is about keys, and the record's name.
Subject = Strategy | Callable[[str, bool, str], str]


def check_subject(given: object) -> None:
    """Refuse what is no strategy.

    Raises:
        ArgumentError: it is none.
    """
    if not callable(given) and given not in get_args(Strategy):
        raise ArgumentError(f"subject cannot be {given!r}", hint="give 'topic', 'record', 'topic_record' or a function")


def subject_of(strategy: Subject, topic: str | None, is_key: bool, record: str | None, who: str) -> str:
    """The subject of a schema.

    Args:
        strategy: how it is found.
        topic: whose records have the schema.
        is_key: whether it is about keys.
        record: the full name of the schema's record.
        who: the serde, for errors.

    >>> [subject_of(one, "orders", False, "shop.Order", "avro") for one in ("topic", "record", "topic_record")]
    ['orders-value', 'shop.Order', 'orders-shop.Order']
    """
    if strategy != "record" and topic is None:
        raise SerdeError(
            f"the {who} serde does not know its topic",
            detail="schemas are registered by topic",
            hint="outside of a topology, use serde.for_topic('orders', is_key=False)",
        )
    if strategy == "topic":
        return f"{topic}-{'key' if is_key else 'value'}"
    if record is None:
        raise SerdeError(
            f"the {who} serde has a schema without a name, but its subject is named after records",
            hint="give a schema with a name (JSON Schema: a title), or subject='topic'",
        )
    if strategy == "record":
        return record
    if strategy == "topic_record":
        return f"{topic}-{record}"
    return strategy(topic or "", is_key, record)
