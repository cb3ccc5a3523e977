"""The operators of a stream that look at one record at a time and keep nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from millstream.dsl import prefixes
from millstream.dsl.functions import checked, takes_key
from millstream.dsl.streams.kstream_base import KStreamBase
from millstream.dsl.unknown import call
from millstream.errors import ArgumentError
from millstream.processors import stateless

if TYPE_CHECKING:
    from millstream.dsl.streams.kstream import KStream

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


class RecordOperators(KStreamBase[K, V]):
    """The part of `KStream` for one record at a time."""

    def filter(self, predicate: Callable[[K, V], bool], name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate is true.

        Use it early: what is dropped here costs nothing further down.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.filter(lambda key, order: order["amount"] > 100).to("big")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     orders = driver.input_topic("orders", Serdes.string, Serdes.json)
        ...     orders.pipe_key_values([("o1", {"amount": 20}), ("o2", {"amount": 250})])
        ...     driver.output_topic("big", Serdes.string, Serdes.json).read_key_values()
        [('o2', {'amount': 250})]
        """
        checked(predicate, "filter", "key", "value")
        return self._then(prefixes.FILTER, name, partial(stateless.Filter, predicate))

    def filter_not(self, predicate: Callable[[K, V], bool], name: str | None = None) -> KStream[K, V]:
        """Keep the records for which the predicate is false.

        Use it when you have a function that tells what you do not want.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> users = builder.stream("users", Consumed(Serdes.string, Serdes.string))
        >>> users.filter_not(lambda key, name: name.startswith("test-")).to("real-users")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("users", Serdes.string, Serdes.string).pipe_values(["ann", "test-1", "bob"])
        ...     driver.output_topic("real-users", Serdes.string, Serdes.string).read_values()
        ['ann', 'bob']
        """
        checked(predicate, "filter_not", "key", "value")
        return self._then(prefixes.FILTER, name, partial(stateless.FilterNot, predicate))

    def map(self, mapper: Callable[[K, V], tuple[K2, V2]], name: str | None = None) -> KStream[K2, V2]:
        """Replace key and value by the `(key, value)` tuple that the mapper returns.

        Use it when both change. The key may now be another, so a join or an aggregation behind it goes through a
        repartition topic; `map_values` needs none.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.map(lambda key, o: (o["region"], o["amount"])).to("amounts", Produced(Serdes.string, Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"region": "eu", "amount": 20})
        ...     driver.output_topic("amounts", Serdes.string, Serdes.long).read_key_value()
        ('eu', 20)
        """
        checked(mapper, "map", "key", "value")
        origin = call("map", mapper)
        return self._then(
            prefixes.MAP, name, partial(stateless.Map, mapper), new_key=origin, new_value=origin, changes_key=True
        )

    @overload
    def map_values(self, mapper: Callable[[V], V2], name: str | None = None) -> KStream[K, V2]: ...

    @overload
    def map_values(self, mapper: Callable[[K, V], V2], name: str | None = None) -> KStream[K, V2]: ...

    def map_values(self, mapper: Callable[..., Any], name: str | None = None) -> KStream[K, Any]:
        """Replace the value; the key stays.

        Use it for every change of shape that leaves the key alone: nothing behind it needs repartitioning. The mapper
        gets the value, or `(key, value)` if it has two parameters.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.map_values(len).to("lengths", Produced(value=Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "millstream")
        ...     driver.output_topic("lengths", Serdes.string, Serdes.long).read_key_value()
        ('k', 10)
        """
        with_key = takes_key(mapper, "map_values", "value")
        operator: Any = stateless.MapValuesWithKey if with_key else stateless.MapValues
        origin = call("map_values", mapper)
        return self._then(prefixes.MAP_VALUES, name, partial(operator, mapper), new_value=origin, changes_value=True)

    def flat_map(self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], name: str | None = None) -> KStream[K2, V2]:
        """Replace a record by any number of `(key, value)` tuples.

        Use it to take a record apart when each part has a key of its own. A mapper that gives nothing drops the record.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> carts = builder.stream("carts", Consumed(Serdes.string, Serdes.json))
        >>> carts.flat_map(lambda key, cart: cart.items()).to("items", Produced(Serdes.string, Serdes.long))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("carts", Serdes.string, Serdes.json).pipe("cart-1", {"apple": 3, "pear": 1})
        ...     driver.output_topic("items", Serdes.string, Serdes.long).read_key_values()
        [('apple', 3), ('pear', 1)]
        """
        checked(mapper, "flat_map", "key", "value")
        origin = call("flat_map", mapper)
        return self._then(
            prefixes.FLAT_MAP,
            name,
            partial(stateless.FlatMap, mapper),
            new_key=origin,
            new_value=origin,
            changes_key=True,
        )

    @overload
    def flat_map_values(self, mapper: Callable[[V], Iterable[V2]], name: str | None = None) -> KStream[K, V2]: ...

    @overload
    def flat_map_values(self, mapper: Callable[[K, V], Iterable[V2]], name: str | None = None) -> KStream[K, V2]: ...

    def flat_map_values(self, mapper: Callable[..., Iterable[Any]], name: str | None = None) -> KStream[K, Any]:
        """Replace a value by any number of values under the same key.

        Use it to take a record apart when the parts belong to the same key.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> lines = builder.stream("lines", Consumed(Serdes.string, Serdes.string))
        >>> lines.flat_map_values(lambda line: line.split()).to("words", Produced(value=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("lines", Serdes.string, Serdes.string).pipe("page-1", "to be or")
        ...     driver.output_topic("words", Serdes.string, Serdes.string).read_key_values()
        [('page-1', 'to'), ('page-1', 'be'), ('page-1', 'or')]
        """
        with_key = takes_key(mapper, "flat_map_values", "value")
        operator: Any = stateless.FlatMapValuesWithKey if with_key else stateless.FlatMapValues
        origin = call("flat_map_values", mapper)
        return self._then(
            prefixes.FLAT_MAP_VALUES, name, partial(operator, mapper), new_value=origin, changes_value=True
        )

    def select_key(self, mapper: Callable[[K, V], K2], name: str | None = None) -> KStream[K2, V]:
        """Replace the key; the value stays.

        Use it before a join or `group_by_key`, to say by what. The records then go through a repartition topic, so that
        equal keys meet.

        >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
        >>> orders.select_key(lambda key, order: order["customer"]).to("by-customer", Produced(key=Serdes.string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"customer": "ann"})
        ...     driver.output_topic("by-customer", Serdes.string, Serdes.json).read_key_value()
        ('ann', {'customer': 'ann'})
        """
        checked(mapper, "select_key", "key", "value")
        origin = call("select_key", mapper)
        return self._then(
            prefixes.KEY_SELECT, name, partial(stateless.SelectKey, mapper), new_key=origin, changes_key=True
        )

    def peek(self, action: Callable[[K, V], object], name: str | None = None) -> KStream[K, V]:
        """Show every record to an action and pass it on.

        Use it to count or to log on the way. What the action returns is ignored; it must not change the value.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder, seen = StreamsBuilder(), []
        >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
        >>> words.peek(lambda key, word: seen.append(word)).to("same-words")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe_values(["mill", "stream"])
        >>> seen
        ['mill', 'stream']
        """
        checked(action, "peek", "key", "value")
        return self._then(prefixes.PEEK, name, partial(stateless.Peek, action))

    def foreach(self, action: Callable[[K, V], object], name: str | None = None) -> None:
        """End the stream in an action.

        Use it for side effects that are no topic, such as a call of another system. They are not undone when a record
        is processed again after a failure.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> alerts = builder.stream("alerts", Consumed(Serdes.string, Serdes.string))
        >>> alerts.foreach(lambda key, text: print(f"call {key}: {text}"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("alerts", Serdes.string, Serdes.string).pipe("ann", "disk full")
        call ann: disk full
        """
        checked(action, "foreach", "key", "value")
        self._then(prefixes.FOREACH, name, partial(stateless.Foreach, action))

    def print(
        self,
        label: str | None = None,
        file: str | Path | None = None,
        mapper: Callable[[K, V], str] | None = None,
        name: str | None = None,
    ) -> None:
        """End the stream in lines of text, `[label]: key, value`, on standard output or in a file.

        Use it to look into a topology while you write it.

        Args:
            label: what each line begins with; the name of the node above if missing.
            file: a path to write to instead of standard output.
            mapper: makes the text of a record; by default `key, value`.
            name: of the node.

        >>> from millstream import Consumed, Serdes, StreamsBuilder
        >>> from millstream.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> builder.stream("words", Consumed(Serdes.string, Serdes.string)).print(label="words")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "mill")
        [words]: k, mill
        """
        if mapper is not None:
            checked(mapper, "print", "key", "value")
        if file is not None and not str(file):
            raise ArgumentError("print needs the name of a file", detail="it was given an empty one")
        path = None if file is None else str(file)
        self._then(prefixes.PRINTER, name, partial(stateless.Print, label or self._place.name, mapper, path))
