"""Making a task's context from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from millstream.config import StreamsConfig
from millstream.processors.user_context import HostContext

C = TypeVar("C", bound=HostContext)


def host_context(config: StreamsConfig, task_id: str, kind: type[C], *, defaults: Mapping[str, Any] | None = None) -> C:
    """The context of one task.

    Args:
        config: the application's configuration.
        task_id: `<sub-topology>_<partition>`.
        kind: the host's class of contexts.
        defaults: settings of the host, which the user's `app_configs` override.
    """
    options = {field.name: getattr(config, field.name) for field in fields(config)}
    directory = None if config.state_dir is None else Path(config.state_dir) / config.application_id / task_id
    return kind(
        config.application_id,
        task_id,
        state_directory=directory,
        cache_max_bytes=config.statestore_cache_max_bytes,
        store_memory_max_bytes=config.statestore_memory_max_bytes,
        config={**options, **(defaults or {}), **config.app_configs},
        key_serde=config.default_key_serde,
        value_serde=config.default_value_serde,
    )
