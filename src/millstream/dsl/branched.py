"""Splitting a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.kstream import KStream
from millstream.dsl.stream import Place
from millstream.errors import ArgumentError
from millstream.graph.nodes import ProcessorNode, SplitNode
from millstream.processors.stateless import PassThrough
from millstream.topology.names import check_name

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Branched:
    """What becomes of a branch.

    Args:
        name: appended to the split's name; the branch's key in the resulting dict.
        function: gets the branch, and what it returns is in the dict instead (None: nothing is).
        consumer: gets the branch, which is then not in the dict.
    """

    name: str | None = None
    function: Callable[[KStream[Any, Any]], KStream[Any, Any] | None] | None = None
    consumer: Callable[[KStream[Any, Any]], object] | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            check_name(self.name)
        if self.function is not None and self.consumer is not None:
            raise ArgumentError("a branch has a function or a consumer, not both")


class BranchedKStream(Generic[K, V]):
    """A stream about to be split; `default_branch` or `no_default_branch` ends it."""

    def __init__(self, place: Place, repartition_needed: bool, name: str | None) -> None:
        self._repartition_needed = repartition_needed
        self._name = place.dsl.name(prefixes.BRANCH, name)
        node = place.dsl.graph.add(SplitNode, name=self._name, parents=(place.node,))
        self._place = replace(place, node=node, name=self._name)
        self._branches: tuple[tuple[Callable[[K, V], bool], str], ...] = ()
        self._result: dict[str, KStream[K, V]] = {}

    def branch(self, predicate: Callable[[K, V], bool], branched: Branched | None = None) -> BranchedKStream[K, V]:
        """Records for which the predicate is the first to be true go here."""
        checked(predicate, "branch", "key", "value")
        name = self._child(branched or Branched(), len(self._branches) + 1)
        self._branches = (*self._branches, (predicate, name))
        self._place.dsl.graph.amend(self._place.node, branches=self._branches)
        return self

    def default_branch(self, branched: Branched | None = None) -> dict[str, KStream[K, V]]:
        """All other records go here. Gives the branches by name."""
        name = self._child(branched or Branched(), 0)
        self._place.dsl.graph.amend(self._place.node, default=name)
        return self._result

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """All other records are dropped. Gives the branches by name."""
        return self._result

    def _child(self, branched: Branched, index: int) -> str:
        graph = self._place.dsl.graph
        name = check_name(f"{self._name}{index if branched.name is None else branched.name}")
        graph.new_name(name)  # a branch uses an index up
        node = graph.add(ProcessorNode, name=name, parents=(self._place.node,), factory=PassThrough)
        stream: KStream[K, V] | None = KStream(
            replace(self._place, node=node, name=name), repartition_needed=self._repartition_needed
        )
        if branched.consumer is not None:
            branched.consumer(stream)  # type: ignore[arg-type]
            return name
        if branched.function is not None:
            stream = branched.function(stream)  # type: ignore[arg-type]
        if stream is not None:
            self._result[name] = stream
        return name
