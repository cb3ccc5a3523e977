"""CREATE, SHOW, DESCRIBE and DROP CONNECTOR: each is a few questions to Kafka Connect, where connectors live."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from millstream.config import is_secret
from millstream.connect.client import ConnectorInfo, Connectors, ConnectorStatus
from millstream.connect.errors import ConnectRefused, NoConnect
from millstream.sql.engine.answers.connectors import (
    ConnectorDescription,
    ConnectorList,
    ConnectorPluginList,
    CreatedConnector,
    DroppedConnector,
    ListedConnector,
    ListedPlugin,
)
from millstream.sql.engine.answers.descriptions import describe_source
from millstream.sql.engine.answers.entities import Entity, WarningEntity
from millstream.sql.engine.context import Context
from millstream.sql.errors import ConnectorError, SqlError
from millstream.sql.tree.expressions import BooleanLiteral, Literal, NullLiteral
from millstream.sql.tree.statements import CreateConnector, DescribeConnector, DropConnector, Listing, Show

_LOG = logging.getLogger("millstream.sql")
_CLASS = "connector.class"
_UNKNOWN = "unknown"
_KINDS = {Listing.SOURCE_CONNECTORS: "source", Listing.SINK_CONNECTORS: "sink"}
#: The one class that ksqlDB knows more of: its keys are made of a column, and its topics are looked up.
_JDBC_SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"
_TRANSFORMS = "org.apache.kafka.connect.transforms"


def create_connector(context: Context, statement: CreateConnector, text: str) -> Entity:
    """CREATE SOURCE|SINK CONNECTOR."""
    connect = _connect(context)
    name = statement.name
    config = _config(statement)
    exists = f"Connector {name} already exists"
    try:
        if not statement.if_not_exists and _is_there(connect, name):
            raise ConnectorError(exists, HTTPStatus.CONFLICT)
        _validate(connect, config)
        if statement.if_not_exists and _is_there(connect, name):
            return WarningEntity(statement_text=text, message=exists)
        made = connect.create(name, config)
    except ConnectRefused as error:
        raise _refused("Failed to create connector", error) from error
    except NoConnect as error:
        raise _unavailable(error) from error
    return CreatedConnector(statement_text=text, info=_harmless(made))


def drop_connector(context: Context, statement: DropConnector, text: str) -> Entity:
    """DROP CONNECTOR."""
    try:
        _connect(context).delete(statement.name)
    except ConnectRefused as error:
        if statement.if_exists and error.status == HTTPStatus.NOT_FOUND:
            return WarningEntity(statement_text=text, message=f"Connector '{statement.name}' does not exist.")
        raise _refused("Failed to drop connector", error) from error
    except NoConnect as error:
        raise _unavailable(error) from error
    return DroppedConnector(statement_text=text, connector_name=statement.name)


def show_connectors(context: Context, statement: Show, text: str) -> Entity:
    """SHOW CONNECTORS and SHOW CONNECTOR PLUGINS."""
    connect = _connect(context)
    try:
        if statement.listing is Listing.CONNECTOR_PLUGINS:
            return _plugins(connect, text)
        return _list(connect, _KINDS.get(statement.listing), text)
    except NoConnect as error:
        raise _unavailable(error) from error


def describe_connector(context: Context, statement: DescribeConnector, text: str) -> Entity:
    """DESCRIBE CONNECTOR."""
    connect = _connect(context)
    name = statement.name
    try:
        try:
            status = connect.status(name)
        except ConnectRefused as error:
            raise _refused("Failed to query connector status", error) from error
        try:
            info = connect.info(name)
        except ConnectRefused as error:
            raise _refused("Failed to describe connector", error) from error
        class_name = info.config.get(_CLASS) or ""
        topics, warnings = _topics(connect, name) if class_name == _JDBC_SOURCE else ((), ())
    except NoConnect as error:
        raise _unavailable(error) from error
    sources = sorted((source for source in context.catalogue if source.topic in topics), key=lambda one: one.name)
    return ConnectorDescription(
        statement_text=text,
        warnings=warnings,
        connector_class=class_name,
        status=status,
        sources=tuple(describe_source(context, source, extended=False) for source in sources),
        topics=topics,
    )


def _connect(context: Context) -> Connectors:
    if context.connectors is None:
        raise SqlError(
            "Connectors need a Kafka Connect worker, and none is configured", hint="set ksql.connect.url to its address"
        )
    return context.connectors


# What a connector is made with.


def _config(statement: CreateConnector) -> dict[str, str]:
    config = {name: _text(name, value) for name, value in statement.properties.items()}
    if config.get(_CLASS) == _JDBC_SOURCE:
        config = _with_key(config)
    return {**config, "name": statement.name}


def _text(name: str, given: Literal) -> str:
    """Connect knows only texts."""
    if isinstance(given, NullLiteral):
        raise SqlError(f"property {name} of a connector cannot be NULL", hint="leave it out")
    return str(given.value).lower() if isinstance(given, BooleanLiteral) else str(given.value)


def _with_key(config: Mapping[str, str]) -> dict[str, str]:
    """`key` names the column that records of the JDBC source have as their key."""
    found = {"tasks.max": "1", **config}
    column = found.pop("key", None)
    if column is not None:
        added = {
            "ksqlCreateKey.type": f"{_TRANSFORMS}.ValueToKey",
            "ksqlCreateKey.fields": column,
            "ksqlExtractString.type": f"{_TRANSFORMS}.ExtractField$Key",
            "ksqlExtractString.field": column,
        }
        before = [found["transforms"]] if found.get("transforms") else []
        found["transforms"] = ",".join([*before, "ksqlCreateKey", "ksqlExtractString"])
        found |= {f"transforms.{name}": value for name, value in added.items()}
    return found


def _validate(connect: Connectors, config: Mapping[str, str]) -> None:
    class_name = config.get(_CLASS)
    if class_name is None:
        problem = "Connector config contains no connector type"  # ksqlDB's has the whole config here, secrets and all
    elif not class_name.strip():
        problem = "Connector type cannot be empty"
    else:
        try:
            found = connect.validate(class_name, config)
        except ConnectRefused as error:
            problem = error.body
        else:
            problem = "\n".join(f"{name} - {'. '.join(errors)}" for name, errors in found.items())
    if problem:
        raise ConnectorError(f"Validation error: {problem}", HTTPStatus.BAD_REQUEST)


def _is_there(connect: Connectors, name: str) -> bool:
    try:
        return name.lower() in map(str.lower, connect.names())
    except ConnectRefused as error:
        raise SqlError(f"Failed to check if connector exists: {error.body}") from error


def _harmless(info: ConnectorInfo) -> ConnectorInfo:
    config = {name: "[hidden]" if is_secret(name) else value for name, value in info.config.items()}
    return msgspec.structs.replace(info, config=config)


# What connectors do.


def _list(connect: Connectors, kind: str | None, text: str) -> ConnectorList:
    try:
        names = connect.names()
    except ConnectRefused as error:
        raise _refused("Failed to list connectors", error) from error
    found, warnings = [], []
    for name in names:
        try:
            info = connect.info(name)
        except ConnectRefused as error:
            warnings.append(f"Could not describe connector {name}: {error.body}")
            if kind is None:
                found.append(ListedConnector(name, _UNKNOWN))
            continue
        if kind is not None and info.type != kind:
            continue
        listed = ListedConnector(name, info.type or _UNKNOWN, info.config.get(_CLASS))
        try:
            listed = dataclasses.replace(listed, state=_state(connect.status(name)))
        except ConnectRefused as error:  # it was made a moment ago; ksqlDB fails here as a whole
            warnings.append(f"Could not query the status of connector {name}: {error.body}")
        found.append(listed)
    return ConnectorList(statement_text=text, warnings=tuple(warnings), connectors=tuple(found))


def _state(status: ConnectorStatus) -> str:
    if status.connector.state != "RUNNING":
        return status.connector.state
    running = sum(task.state == "RUNNING" for task in status.tasks)
    all_of_it = "WARNING" if status.tasks and not running else "RUNNING"
    return f"{all_of_it} ({running}/{len(status.tasks)} tasks RUNNING)"


def _plugins(connect: Connectors, text: str) -> ConnectorPluginList:
    try:
        found = connect.plugins()
    except ConnectRefused as error:
        raise _refused("Failed to list connector plugins", error) from error
    listed = tuple(ListedPlugin(one.class_name, one.type, one.version) for one in found)
    return ConnectorPluginList(statement_text=text, connectors_plugins=listed)


def _topics(connect: Connectors, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The topics of a connector, and what to warn of."""
    try:
        return connect.topics(name), ()
    except ConnectRefused as error:
        if error.status == HTTPStatus.NOT_FOUND:
            _LOG.warning("the topics of connector %s are not known: %s", name, error.body)
            return (), ()
        return (), (f"Could not list related topics due to error: {error.body}",)


# What goes wrong.


def _refused(doing: str, error: ConnectRefused) -> ConnectorError:
    return ConnectorError(f"{doing}: {error.body}", error.status)


def _unavailable(error: NoConnect) -> SqlError:
    return SqlError(error.primary, detail=error.detail, hint=error.hint)
