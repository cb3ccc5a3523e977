"""Finding the serdes of sources, sinks and stores."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from millstream.config import StreamsConfig
from millstream.errors import SerdeError
from millstream.serdes.deferred import DeferredSerde, resolved
from millstream.serdes.serde import AnySerde
from millstream.topology.nodes import SinkNode, SourceNode


def node_serdes(node: SourceNode | SinkNode, config: StreamsConfig) -> tuple[AnySerde, AnySerde]:
    """The key's and the value's serde: the node's own, or the configured default.

    Raises:
        SerdeError: there is neither.
    """
    return (
        _resolve(node, "key", node.key, config).configured(config.client),
        _resolve(node, "value", node.value, config).configured(config.client),
    )


def store_with_serdes(builder: Any, config: StreamsConfig, topic: str) -> Any:
    """A store's builder with the configured defaults where it was given no serdes, and all for its changelog topic.

    Builders are dataclasses whose serdes are in fields called `key`, `value` or `..._serde`; a user's own builder that
    is none takes care of its serdes itself.
    """
    name = builder.name
    if not is_dataclass(builder) or isinstance(builder, type):
        return builder
    known: dict[str, AnySerde] = {}
    for field in fields(builder):
        if field.name in ("key", "value") or field.name.endswith("_serde"):
            serde = getattr(builder, field.name)
            is_key = "key" in field.name
            if serde is None or isinstance(serde, DeferredSerde):
                serde = resolved(serde, is_key, config.default_key_serde, config.default_value_serde, f"store '{name}'")
            known[field.name] = serde.configured(config.client).for_topic(topic, is_key)
    return replace(builder, **known) if known else builder


def _resolve(node: SourceNode | SinkNode, part: str, own: AnySerde | None, config: StreamsConfig) -> AnySerde:
    if isinstance(own, DeferredSerde):
        return own.resolve(config.default_key_serde, config.default_value_serde, f"node '{node.name}'")
    serde = own or (config.default_key_serde if part == "key" else config.default_value_serde)
    if serde is not None:
        return serde
    if isinstance(node, SourceNode):
        kind, option = "source", "Consumed"
        what = f"it reads {', '.join(node.topics) if node.pattern is None else f'topics like {node.pattern.pattern}'}"
    else:
        kind, option = "sink", "Produced"
        what = f"it writes to {node.topic if isinstance(node.topic, str) else 'topics chosen by a function'}"
    raise SerdeError(
        f"{kind} '{node.name}' has no {part} serde",
        detail=f"{what}, and default_{part}_serde is not set",
        hint=f"give one with {option}({part}=Serdes.string) or set default_{part}_serde",
    )
