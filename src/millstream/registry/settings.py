"""Settings of schema registries, as they stand among those of an application's clients."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import ArgumentError
from millstream.registry.memory import InMemoryRegistry
from millstream.registry.schemas import SchemaRegistry

PREFIX = "schema.registry."
#: Java's serdes take these with and without the prefix; no Kafka client knows them.
_BARE = ("basic.auth.", "bearer.auth.", "auto.register.schemas", "use.latest.version")
#: What serdes do with schemas: nothing for the client.
_OF_SERDES = ("auto.register.schemas", "use.latest.version")
_NUMBERS = (
    "timeout",
    "max.retries",
    "retries.wait.ms",
    "retries.max.wait.ms",
    "cache.capacity",
    "cache.latest.ttl.sec",
)
_IN_MEMORY = "mock://"

#: One per process and settings: numbers of schemas are asked for once.
_connected: dict[tuple[tuple[str, str], ...], SchemaRegistry] = {}


def is_registry_setting(name: str) -> bool:
    """Whether a client's setting is about the schema registry, and nothing for Kafka's clients."""
    return name.startswith((PREFIX, *_BARE))


def registry_settings(settings: Mapping[str, object]) -> dict[str, str]:
    """What settings of clients say about the schema registry, without the prefix.

    >>> registry_settings({"schema.registry.url": "http://registry:8081", "basic.auth.user.info": "a:b", "acks": 1})
    {'url': 'http://registry:8081', 'basic.auth.user.info': 'a:b'}
    """
    return {name.removeprefix(PREFIX): str(value) for name, value in settings.items() if is_registry_setting(name)}


def connect(settings: Mapping[str, str]) -> SchemaRegistry:
    """The registry that settings name: one object per process. It connects when it is first asked.

    Args:
        settings: without the prefix. A `url` of `mock://` and a name is a registry in the memory of this process.

    Raises:
        ArgumentError: they cannot work.
    """
    identity = tuple(sorted((name, str(value)) for name, value in settings.items() if name not in _OF_SERDES))
    known = _connected.get(identity)
    if known is None:
        known = _connected.setdefault(identity, _registry(dict(identity)))
    return known


def _registry(settings: dict[str, str]) -> SchemaRegistry:
    url = settings.pop("url", "")
    if url.startswith(_IN_MEMORY):
        return InMemoryRegistry()
    if not url.startswith(("http://", "https://")):
        raise ArgumentError(
            f"schema.registry.url cannot be {url!r}", hint="give http://host:8081, or mock://name for one in memory"
        )
    source = settings.pop("basic.auth.credentials.source", "USER_INFO")
    if source not in ("USER_INFO", "URL"):
        raise ArgumentError(
            f"schema.registry.basic.auth.credentials.source cannot be {source!r}",
            hint="give USER_INFO, with schema.registry.basic.auth.user.info, or URL, with user:password@ in the URL",
        )
    java = [name for name in settings if name.startswith(("ssl.truststore.", "ssl.keystore."))]
    if java:
        raise ArgumentError(
            f"schema.registry.{java[0]} cannot be used: stores of Java's are nothing that Python reads",
            hint="give PEM files: schema.registry.ssl.ca.location, ssl.certificate.location and ssl.key.location",
        )
    options: dict[str, object] = dict(settings)
    if "bearer.auth.token" in settings:
        options.setdefault("bearer.auth.credentials.source", "STATIC_TOKEN")
        options.setdefault("bearer.auth.logical.cluster", "")  # Confluent Cloud's; the client insists on one
    for name in _NUMBERS:
        if name in settings:
            options[name] = float(settings[name])
    from millstream.registry.confluent import ConfluentRegistry  # its HTTP client takes long to import

    return ConfluentRegistry(url, options)
