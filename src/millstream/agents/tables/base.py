"""What all tables share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.agents.body.current import CURRENT, Access, Current
from millstream.agents.surroundings import Surroundings
from millstream.agents.typed import serde_for
from millstream.errors import StateStoreError
from millstream.serdes import Serdes
from millstream.state import StoreBuilder
from millstream.topology.names import check_name


class TableBase:
    """What plain and windowed tables share: a name, types and a default. Made by `App.Table`."""

    def __init__(
        self,
        surroundings: Surroundings,
        name: str,
        *,
        default: Callable[[], Any] | None = None,
        key_type: Any = None,
        value_type: Any = None,
        key_serializer: Any = None,
        value_serializer: Any = None,
        persistent: bool = True,
    ) -> None:
        self.name = check_name(name, "state store")
        self.default = default
        self.key_serde = serde_for(key_type, key_serializer, Serdes.json)
        self.value_serde = serde_for(value_type, value_serializer, Serdes.json)
        self.persistent = persistent
        self._surroundings = surroundings

    def store(self) -> StoreBuilder:
        """The store that a task keeps its rows in."""
        raise NotImplementedError

    def _current(self) -> tuple[Current, Access]:
        """The record that is being processed, and the way to the rows."""
        current = CURRENT.get()
        if current is None:
            raise StateStoreError(
                f"table '{self.name}' can only be changed by an agent at a record",
                hint="send a record to an agent that changes it",
            )
        try:
            return current, current.tables[self.name]
        except KeyError:
            raise StateStoreError(
                f"agent '{current.agent}' has no table '{self.name}'",
                detail=f"its tables are {', '.join(current.tables) or 'none'}: those that its code names",
                hint=f"say so: @app.agent(..., tables=[{self.name}])",
            ) from None

    def _missing(self, key: Any) -> Any:
        if self.default is None:
            raise KeyError(key)
        return self.default()
