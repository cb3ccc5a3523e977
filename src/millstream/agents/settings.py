"""An application's settings: Faust's names for what Faust users set, and all options of `StreamsConfig`."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.agents.times import to_timedelta
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError

log = logging.getLogger("millstream.agents")

#: Settings of Faust that have no meaning here: what they tune is not there, or is done by the engine.
_WITHOUT_MEANING = frozenset(
    {
        "agent_supervisor", "autodiscover", "blocking_timeout", "broker_check_crcs", "broker_client_id",
        "broker_commit_every", "broker_commit_livelock_soft_timeout", "broker_heartbeat_interval",
        "broker_max_poll_interval", "broker_max_poll_records", "broker_request_timeout", "broker_session_timeout",
        "canonical_url", "consumer_auto_offset_reset", "datadir", "debug", "logging_config",
        "loghandlers", "monitor", "node_hostname", "origin", "producer_acks", "producer_linger_ms",
        "reply_create_topic", "reply_expires", "stream_buffer_maxsize", "stream_processing_timeout",
        "stream_publish_on_commit", "stream_recovery_delay", "stream_wait_empty", "table_cleanup_interval",
        "table_standby_replicas", "tabledir", "topic_allow_declare", "topic_disable_leader",
        "web_bind", "web_cors_options", "web_in_thread", "web_transport", "worker_redirect_stdouts",
    }
)  # fmt: skip
_GUARANTEES = {"exactly_once": "exactly_once_v2"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an application was given.

    Args:
        streams: how it runs.
        persistent: keep tables on disk.
        topic_partitions: partitions of topics that the application makes.
        topic_replication_factor: copies of topics that the application makes; -1 leaves it to the broker.
        key_serializer: of topics that say nothing about their keys: "json", "raw", or a serde.
        value_serializer: the same for values.
        timezone: of `crontab`.
        web_host: where pages are served.
        web_port: where pages are served; 0 takes a free port.
        web_enabled: whether pages are served.
    """

    streams: StreamsConfig
    persistent: bool = True
    topic_partitions: int = 8
    topic_replication_factor: int = -1
    key_serializer: Any = None
    value_serializer: Any = None
    timezone: Any = None
    web_host: str = "127.0.0.1"
    web_port: int = 6066
    web_enabled: bool = True


@dataclass
class _Split:
    """Settings by whom they are for."""

    streams: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)


def read_settings(name: str, given: Mapping[str, Any]) -> Settings:
    """Faust's settings and those of `StreamsConfig`.

    >>> found = read_settings("orders", {"broker": "kafka://one:9092;two:9092", "version": 2, "store": "memory://"})
    >>> found.streams.application_id, found.streams.bootstrap_servers, found.persistent
    ('orders-v2', 'one:9092,two:9092', False)
    """
    rest = dict(given)
    version = rest.pop("version", 1)
    split = _Split({"application_id": name if version == 1 else f"{name}-v{version}"})
    options = {one.name for one in dataclasses.fields(StreamsConfig)}
    own = {one.name for one in dataclasses.fields(Settings)} - {"streams", "persistent"}
    for setting, value in rest.items():
        _sort(setting, value, split, options, own)
    return Settings(streams=StreamsConfig(**split.streams), **split.own)


def _sort(setting: str, value: Any, split: _Split, options: set[str], own: set[str]) -> None:
    if setting == "broker":
        split.streams["bootstrap_servers"] = _servers(value)
    elif setting == "store":
        split.own["persistent"] = not str(value).startswith("memory")
    elif setting == "broker_commit_interval":
        split.streams["commit_interval"] = to_timedelta(value, setting)
    elif setting == "processing_guarantee":
        text = getattr(value, "value", value)
        split.streams[setting] = _GUARANTEES.get(text, text)
    elif setting in options and setting != "application_id":
        split.streams[setting] = value
    elif setting in own:
        split.own[setting] = value
    elif setting in _WITHOUT_MEANING:
        log.info("setting %s of Faust has no effect here", setting)
    else:
        raise ArgumentError(
            f"there is no setting {setting!r}",
            hint="see docs/coming-from-faust.md for Faust's settings, and StreamsConfig for all others",
        )


def _servers(broker: str | Iterable[str]) -> str:
    parts = broker.split(";") if isinstance(broker, str) else list(broker)
    return ",".join(part.partition("://")[2] or part for part in parts)
