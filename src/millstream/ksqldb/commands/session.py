"""The session of a request: its properties and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.ksqldb.api import Request, ServiceError
from millstream.sql.engine.context import Context
from millstream.sql.errors import SqlError
from millstream.sql.settings import Settings, definition_of


@dataclass
class Session:
    """What SET, UNSET, DEFINE and UNDEFINE change, for one request.

    Attributes:
        settings: of the server, with the properties of the session laid over them.
        variables: by names in lower case.
    """

    settings: Settings
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, request: Request, server: Settings) -> Session:
        """The session that a request is sent in.

        Raises:
            ServiceError: a property is unknown, or not for clients to set.
        """
        variables = {name.lower(): str(value) for name, value in request.variables.items()}
        return cls(with_properties(server, request.properties), variables)

    def copy(self) -> Session:
        """The same, to be changed on its own."""
        return Session(self.settings, dict(self.variables))

    def context(self, state: Context) -> Context:
        """A state of the engine as this session sees it."""
        return replace(state, settings=self.settings, variables=self.variables)

    def take(self, context: Context) -> None:
        """What statements executed in a context have changed."""
        self.settings, self.variables = context.settings, context.variables


def with_properties(server: Settings, properties: Mapping[str, Any]) -> Settings:
    """Settings with the properties of a client laid over them.

    Raises:
        ServiceError: a property is unknown, or not for clients to set.
    """
    if not properties:
        return server
    denied = sorted(set(properties) & denied_properties(server))
    if denied:
        raise ServiceError(
            40000,
            "One or more properties overrides set locally are prohibited by the KSQL server (use UNSET to reset their "
            f"default value): [{', '.join(denied)}]",
        )
    for name in properties:
        definition = definition_of(name)
        if definition is None:
            raise ServiceError(40000, f"Unknown property: {name}")
        if not definition.editable:
            raise ServiceError(40000, f"Cannot override property '{name}'")
    try:
        return Settings(server.configured, {**server.overrides, **properties})
    except SqlError as error:
        raise ServiceError(40000, error.primary, detail=error.detail, hint=error.hint) from error


def denied_properties(server: Settings) -> frozenset[str]:
    """The properties that clients may not set on this server."""
    listed = str(server.get("ksql.properties.overrides.denylist", ""))
    return frozenset(name.strip() for name in listed.split(",") if name.strip())


def is_property(server: Settings, name: str) -> bool:
    """Whether a property is known and clients may set it."""
    definition = definition_of(name)
    return definition is not None and definition.editable and name not in denied_properties(server)
