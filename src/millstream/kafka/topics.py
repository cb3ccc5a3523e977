"""Topics that an application creates, with the settings that Kafka Streams gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DAY_MS = 24 * 60 * 60 * 1000
LONGEST_MS = 2**63 - 1
_SEGMENT_BYTES = 50 * 1024 * 1024
#: Settings that older brokers do not know, and can be done without there.
LATER = frozenset({"message.timestamp.after.max.ms"})


@dataclass(frozen=True)
class NewTopic:
    """A topic to be created.

    Args:
        name: its full name.
        partitions: how many partitions it has; -1 leaves it to the broker.
        config: its settings; they win over those of `StreamsConfig.client` that start with `topic.`.
        defaults: settings that both win over.
    """

    name: str
    partitions: int = -1
    config: Mapping[str, str] = field(default_factory=dict, hash=False)
    defaults: Mapping[str, str] = field(default_factory=dict, hash=False)


def repartition_topic(name: str, partitions: int) -> NewTopic:
    """A topic between two parts of a topology: nothing is deleted by age, as it may still have to be read."""
    settings = {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": str(_SEGMENT_BYTES)}
    return NewTopic(name, partitions, defaults=_created(settings))


def changelog_topic(name: str, partitions: int, config: Mapping[str, str] | None = None) -> NewTopic:
    """The changelog of a key-value store: the last value of every key is kept."""
    return NewTopic(name, partitions, config or {}, _created({"cleanup.policy": "compact"}))


def progress_topic(name: str, partitions: int) -> NewTopic:
    """The topic that has what tasks know beside their stores: the last of each is kept."""
    return changelog_topic(name, partitions)


def window_changelog_topic(
    name: str,
    partitions: int,
    *,
    retention_ms: int,
    additional_ms: int = DAY_MS,
    duplicates: bool = False,
    config: Mapping[str, str] | None = None,
) -> NewTopic:
    """The changelog of a window or session store.

    Args:
        name: the topic's name.
        partitions: how many partitions it has.
        retention_ms: how long the store keeps a window.
        additional_ms: how much longer the topic keeps it.
        duplicates: the store keeps several values of a key and window, as those of stream-stream joins do, so that
            records of one key do not replace each other.
        config: the user's settings.
    """
    policy = "delete" if duplicates else "compact,delete"
    settings = {"cleanup.policy": policy, "retention.ms": str(min(retention_ms + additional_ms, LONGEST_MS))}
    return NewTopic(name, partitions, config or {}, _created(settings))


def versioned_changelog_topic(
    name: str, partitions: int, *, history_ms: int, config: Mapping[str, str] | None = None
) -> NewTopic:
    """The changelog of a versioned store: older versions are kept as long as the store needs them, and a day more."""
    settings = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(min(history_ms + DAY_MS, LONGEST_MS))}
    return NewTopic(name, partitions, config or {}, _created(settings))


def _created(settings: dict[str, str]) -> dict[str, str]:
    # The time of a record is the application's business, whatever the broker's default is: also if it is far ahead.
    return settings | {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(LONGEST_MS)}
