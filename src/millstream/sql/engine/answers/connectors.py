"""What statements about connectors answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from millstream.connect.client import ConnectorInfo, ConnectorStatus
from millstream.sql.engine.answers.entities import Entity, SourceDescription


@dataclass(frozen=True, kw_only=True)
class CreatedConnector(Entity):
    """The answer to CREATE CONNECTOR."""

    type: ClassVar[str] = "connector_info"

    info: ConnectorInfo

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "info": _plain(self.info)}


@dataclass(frozen=True, kw_only=True)
class DroppedConnector(Entity):
    """The answer to DROP CONNECTOR."""

    type: ClassVar[str] = "drop_connector"

    connector_name: str


@dataclass(frozen=True)
class ListedConnector:
    """A connector in a list.

    Attributes:
        class_name: None where Connect does not tell.
        state: None where it has none yet.
    """

    name: str
    type: str
    class_name: str | None = None
    state: str | None = None


@dataclass(frozen=True, kw_only=True)
class ConnectorList(Entity):
    """The answer to SHOW CONNECTORS."""

    type: ClassVar[str] = "connector_list"

    connectors: tuple[ListedConnector, ...]

    def to_json(self) -> dict[str, Any]:
        content = super().to_json()
        listed = [_without_nulls(one) for one in content["connectors"]]
        return {**content, "connectors": listed}


@dataclass(frozen=True, kw_only=True)
class ConnectorDescription(Entity):
    """The answer to DESCRIBE CONNECTOR.

    Attributes:
        sources: streams and tables of its topics.
    """

    type: ClassVar[str] = "connector_description"

    connector_class: str
    status: ConnectorStatus
    sources: tuple[SourceDescription, ...] = ()
    topics: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        status = _plain(self.status)
        status["connector"] = _without_nulls(status["connector"])
        status["tasks"] = [_without_nulls(task) for task in status["tasks"]]
        return {**super().to_json(), "status": status}


@dataclass(frozen=True)
class ListedPlugin:
    """A kind of connector in a list."""

    class_name: str
    type: str | None
    version: str | None


@dataclass(frozen=True, kw_only=True)
class ConnectorPluginList(Entity):
    """The answer to SHOW CONNECTOR PLUGINS."""

    type: ClassVar[str] = "connector_plugins_list"

    connectors_plugins: tuple[ListedPlugin, ...]


def _plain(told: msgspec.Struct) -> dict[str, Any]:
    """What Connect told, as JSON has it."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(told))
    return content


def _without_nulls(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}
