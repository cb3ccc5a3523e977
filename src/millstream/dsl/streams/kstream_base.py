"""What all operators of a stream need: where it is, and how one more operator is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from millstream.dsl.functions import check_store_names
from millstream.dsl.place import Place, repartitioned
from millstream.dsl.unknown import unknown_key, unknown_value
from millstream.graph.nodes import ProcessorNode
from millstream.processors.operator import OperatorFactory
from millstream.serdes import Serde
from millstream.topology.names import check_name
from millstream.topology.suppliers import check_supplier

if TYPE_CHECKING:
    from millstream.dsl.streams.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")


class KStreamBase(Generic[K, V]):
    """A stream without its operators."""

    def __init__(self, place: Place, *, repartition_needed: bool) -> None:
        self._place = place
        # The key changed, so equal keys may lie in different partitions until a repartition.
        self._repartition_needed = repartition_needed
        self._repartitioned: Place | None = None

    def _then(
        self,
        prefix: str,
        name: str | None,
        factory: OperatorFactory,
        *,
        new_key: str | None = None,
        new_value: str | None = None,
        changes_key: bool = False,
        changes_value: bool = False,
    ) -> KStream[Any, Any]:
        """The stream behind one more operator; `new_key` and `new_value` say what makes them, if it does."""
        place = self._place
        node_name = place.dsl.name(prefix, name)
        node = place.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(place.node,),
            factory=factory,
            changes_key=changes_key,
            changes_value=changes_value,
        )
        result = replace(
            place,
            node=node,
            name=node_name,
            key=place.key if new_key is None else unknown_key(new_key),
            value=place.value if new_value is None else unknown_value(new_value),
        )
        return self._stream(result, repartition_needed=self._repartition_needed or changes_key)

    def _process(
        self,
        supplier: Callable[[], Any],
        prefix: str,
        name: str | None,
        factory: OperatorFactory,
        stores: tuple[str, ...],
        origin: str,
        *,
        new_key: bool,
    ) -> KStream[Any, Any]:
        place = self._place
        own_stores = tuple(check_supplier(supplier))
        check_store_names(stores)
        node_name = check_name(name) if name is not None else place.dsl.name(prefix)
        node = place.dsl.graph.add(
            ProcessorNode,
            name=node_name,
            parents=(place.node,),
            factory=factory,
            stores=own_stores,
            store_names=stores,
        )
        key = unknown_key(origin) if new_key else place.key
        result = replace(place, node=node, name=node_name, key=key, value=unknown_value(origin))
        return self._stream(result, repartition_needed=self._repartition_needed or new_key)

    def _ready_for_join(self, base: str | None, key: Serde[Any], value: Serde[Any]) -> Place:
        """Where a join can read this stream: behind a repartition, if the key changed.

        Joins without a name share one repartition of a stream.
        """
        place = self._place
        if not self._repartition_needed:
            return place
        if self._repartitioned is None or base is not None:
            self._repartitioned = repartitioned(place, base or place.name, key, value)
        else:
            place.dsl.graph.new_repartition_names(place.name)  # the indices are used up all the same
        return self._repartitioned

    def _stream(self, place: Place, *, repartition_needed: bool) -> KStream[Any, Any]:
        """Another stream; this one is a `KStream`, whatever part of it calls."""
        return cast("type[KStream[Any, Any]]", type(self))(place, repartition_needed=repartition_needed)
