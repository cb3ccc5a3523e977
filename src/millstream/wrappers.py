"""Wrapping every processor of a topology in something of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ProcessorSupplier:
    """Makes the processors of one node: calling it gives a new one.

    Args:
        make: a processor's class, or a function that makes one.
        stores: builders of the stores that come with the node.
    """

    make: Callable[[], Any]
    stores: tuple[Any, ...] = ()

    def __call__(self) -> Any:
        return self.make()


class ProcessorWrapper:
    """Wraps every processor of a topology, those of the DSL's operators too. Both methods leave them as they are.

    Give one in the configuration, and the configuration to whoever builds the topology: `StreamsBuilder(config)` or
    `Topology(config)`. It is asked once for each node.

    A supplier's `stores` are builders. Of an operator of the DSL these are the operator's stores (one that several
    nodes share comes with the first of them), of a processor of your own those that its supplier brings. What is
    returned may have `stores` too: one of the same name takes the other's place, one of another name is added and
    connected.

    >>> from millstream import Consumed, Processor, ProcessorSupplier, ProcessorWrapper, Serdes
    >>> from millstream import StreamsBuilder, StreamsConfig
    >>> from millstream.testing import TopologyTestDriver
    >>> class Told(Processor):
    ...     def __init__(self, name, inner):
    ...         self.name, self.inner = name, inner
    ...     def init(self, context):
    ...         self.inner.init(context)
    ...     def process(self, record):
    ...         print(self.name, record.value)
    ...         self.inner.process(record)
    ...     def close(self):
    ...         self.inner.close()
    >>> class Telling(ProcessorWrapper):
    ...     def wrap_processor_supplier(self, name, supplier):
    ...         return ProcessorSupplier(lambda: Told(name, supplier()))
    >>> config = StreamsConfig(processor_wrapper=Telling())
    >>> builder = StreamsBuilder(config)
    >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
    >>> loud = words.filter(lambda key, word: len(word) > 2, name="long").map_values(str.upper, name="upper")
    >>> with TopologyTestDriver(builder.build(), config) as driver:
    ...     driver.input_topic("words", Serdes.string, Serdes.string).pipe("k", "mill")
    long mill
    upper mill
    """

    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> Callable[[], Any]:
        """What makes the processors of a node instead.

        Of an operator of the DSL the processor is a `Processor` as well. Values of a table are `(new, old, is_latest)`.

        Args:
            name: of the node.
            supplier: of `Processor`s; what is returned must make such too.
        """
        return supplier

    def wrap_fixed_key_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> Callable[[], Any]:
        """The same for the `FixedKeyProcessor`s of `process_values`.

        Args:
            name: of the node.
            supplier: of `FixedKeyProcessor`s; what is returned must make such too.
        """
        return supplier
