"""Splitting a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from millstream.dsl import prefixes
from millstream.dsl.functions import checked
from millstream.dsl.options import chosen
from millstream.dsl.place import Place
from millstream.dsl.streams.kstream import KStream
from millstream.errors import ArgumentError, TopologyError, describe_callable
from millstream.graph.nodes import ProcessorNode, SplitNode
from millstream.processors.stateless import PassThrough
from millstream.topology.names import check_name

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Branched:
    """What becomes of a branch.

    Use a name to find the branch in the resulting dict, or a consumer to say right there what becomes of it.

    Args:
        name: appended to the split's name; the branch's key in the resulting dict.
        function: gets the branch, and what it returns is in the dict instead (None: nothing is).
        consumer: gets the branch, which is then not in the dict.

    >>> from millstream import Branched, Consumed, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.long))
    >>> big = Branched("big", consumer=lambda branch: branch.to("big-numbers"))
    >>> numbers.split("size-").branch(lambda key, n: n >= 10, big).no_default_branch()
    {}
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("numbers", Serdes.string, Serdes.long).pipe_values([3, 14])
    ...     driver.output_topic("big-numbers", Serdes.string, Serdes.long).read_values()
    [14]
    """

    name: str | None = None
    function: Callable[[KStream[Any, Any]], KStream[Any, Any] | None] | None = None
    consumer: Callable[[KStream[Any, Any]], object] | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            check_name(self.name)
        if self.function is not None and self.consumer is not None:
            raise ArgumentError("a branch has a function or a consumer, not both")
        for part in ("function", "consumer"):
            if getattr(self, part) is not None:
                checked(getattr(self, part), f"Branched({part}=...)", "stream")


class BranchedKStream(Generic[K, V]):
    """A stream about to be split; `default_branch` or `no_default_branch` ends it.

    Made by `KStream.split`. Predicates are asked in the order of the calls, and the first that is true takes the
    record.

    >>> from millstream import Branched, Consumed, Serdes, StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.long))
    >>> parts = numbers.split("n-").branch(lambda key, n: n < 0, Branched("below")).default_branch(Branched("rest"))
    >>> list(parts)
    ['n-below', 'n-rest']
    """

    def __init__(self, place: Place, repartition_needed: bool, name: str | None) -> None:
        self._repartition_needed = repartition_needed
        self._name = place.dsl.name(prefixes.BRANCH, name)
        node = place.dsl.graph.add(SplitNode, name=self._name, parents=(place.node,))
        self._place = replace(place, node=node, name=self._name)
        self._branches: tuple[tuple[Callable[[K, V], bool], str], ...] = ()
        self._result: dict[str, KStream[K, V]] = {}

    def branch(self, predicate: Callable[[K, V], bool], branched: Branched | None = None) -> BranchedKStream[K, V]:
        """Records for which the predicate is the first to be true go here.

        Use it once for every branch, the most special one first.

        >>> from millstream import Branched, Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.long)).split("n-")
        >>> numbers = numbers.branch(lambda key, n: n % 6 == 0, Branched("six"))
        >>> numbers = numbers.branch(lambda key, n: n % 2 == 0, Branched("two"))
        >>> numbers.no_default_branch()["n-two"].to("two")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("numbers", Serdes.string, Serdes.long).pipe_values([3, 4, 6])
        ...     driver.output_topic("two", Serdes.string, Serdes.long).read_values()
        [4]
        """
        checked(predicate, "branch", "key", "value")
        name = self._child(chosen(branched, Branched, "branch"), len(self._branches) + 1)
        self._branches = (*self._branches, (predicate, name))
        self._place.dsl.graph.amend(self._place.node, branches=self._branches)
        return self

    def default_branch(self, branched: Branched | None = None) -> dict[str, KStream[K, V]]:
        """All other records go here. Gives the branches by name.

        Use it when no record may get lost. Without a name the branch is called `0`.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.long))
        >>> parts = numbers.split("n-").branch(lambda key, n: n > 9).default_branch()
        >>> parts["n-0"].to("rest")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("numbers", Serdes.string, Serdes.long).pipe_values([3, 14])
        ...     driver.output_topic("rest", Serdes.string, Serdes.long).read_values()
        [3]
        """
        name = self._child(chosen(branched, Branched, "default_branch"), 0)
        self._place.dsl.graph.amend(self._place.node, default=name)
        return self._result

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """All other records are dropped. Gives the branches by name.

        Use it when records that fit nowhere are of no interest. Branches without a name are called `1`, `2` and so on.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> numbers = builder.stream("numbers", Consumed(Serdes.string, Serdes.long))
        >>> parts = numbers.split("n-").branch(lambda key, n: n > 9).no_default_branch()
        >>> parts["n-1"].to("big")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("numbers", Serdes.string, Serdes.long).pipe_values([3, 14])
        ...     driver.output_topic("big", Serdes.string, Serdes.long).read_values()
        [14]
        """
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
            if not isinstance(stream, KStream | None):
                raise TopologyError(
                    "the function of a branch must return a KStream or None",
                    detail=f"{describe_callable(branched.function)} returned {stream!r}",
                    hint="give a consumer instead if the branch ends there",
                )
        if stream is not None:
            self._result[name] = stream
        return name
