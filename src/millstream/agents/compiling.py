"""From agents to a topology: each is a stream of the DSL, an operator with the stores of its tables, and sinks."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from millstream.agents.agent import Agent
from millstream.agents.body.outgoing import SENT_KEY, SENT_VALUE, partition_of, topic_of
from millstream.agents.body.plain import PlainAgent
from millstream.agents.body.spec import AgentSpec
from millstream.agents.body.stream import SKIPPED
from millstream.agents.body.waiting import WaitingAgent
from millstream.agents.planning import Detour, Regrouping, apply_steps, stages_of
from millstream.agents.topics import Topic
from millstream.agents.usage import Usage, usage_of
from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.options import Consumed, Produced, Repartitioned
from millstream.dsl.streams.extending import run_operator, serdes_of, sources_of, with_serdes
from millstream.dsl.streams.kstream import KStream
from millstream.errors import TopologyError
from millstream.serdes import Serdes
from millstream.state import Stores
from millstream.topology.topology import Topology

_TAKES = {"noack_take", "take", "take_events", "take_with_timestamp"}


class Compiler:
    """Adds agents to a builder, each once."""

    def __init__(self, builder: StreamsBuilder) -> None:
        self._builder = builder
        self._added: dict[str, KStream[Any, Any]] = {}
        #: The sources that feed the agents of each table.
        self._feeding: dict[str, set[str]] = {}
        self._stores: set[str] = set()

    def add(self, agent: Agent) -> KStream[Any, Any]:
        """The stream of what an agent yields."""
        found = self._added.get(agent.name)
        if found is None:
            found = self._added[agent.name] = self._compile(agent)
        return found

    def demand_equal_partitions(self, topology: Topology) -> None:
        """A table is used by tasks of one number: all topics that feed its agents need equally many partitions."""
        for sources in self._feeding.values():
            there = [name for name in sources if name in topology.nodes]  # sources of one topic have become one
            if len(there) > 1:
                topology.copartition(there)

    def _compile(self, agent: Agent) -> KStream[Any, Any]:
        if agent.sinks and not inspect.isasyncgenfunction(agent.function):
            raise TopologyError(
                f"agent '{agent.name}' has sinks and never yields",
                detail=f"sinks {', '.join(map(repr, agent.sinks))}",
                hint="yield what they are to get, or leave them out",
            )
        functions = tuple(sink for sink in agent.sinks if not isinstance(sink, Topic | Agent))
        used = usage_of(agent.function, functions)
        used.tables.update((table.name, table) for table in agent.tables)
        stream = self._input(agent, used)
        key, value = serdes_of(stream)
        stores = [self._store(table.store()) for table in used.tables.values()]
        for store in stores:
            self._feeding.setdefault(store, set()).update(sources_of(stream))
        open_list = None
        if used.names & _TAKES:
            supplier = Stores.persistent_key_value(f"{agent.name}-open-list")
            open_list = self._store(Stores.key_value_store(supplier, Serdes.long, Serdes.bytes))
            stores.append(open_list)
        spec = AgentSpec(
            name=agent.name,
            function=agent.function,
            tables=tuple(used.tables),
            sinks=functions,
            sends=f"{agent.name}-sends",
            waits=used.waits or any(usage_of(one).waits for one in functions),
            in_flight=agent.in_flight,
            open_list=open_list,
            key=key,
            value=value,
        )
        operator = WaitingAgent if spec.waits else PlainAgent
        origin = f"agent {agent.name}"
        results = run_operator(stream, partial(operator, spec), *stores, name=agent.name, origin=origin)
        sends = Produced(SENT_KEY, SENT_VALUE, partition_of, spec.sends)
        results.to(topic_of, sends)
        for number, sink in enumerate(agent.sinks):
            topic = sink.topic if isinstance(sink, Agent) else sink
            if isinstance(topic, Topic):
                name = f"{agent.name}-sink-{number}"
                results.to(topic.name, Produced(_key(topic, stream), topic.value_serde, name=name))
        return results

    def _store(self, builder: Any) -> str:
        name: str = builder.name
        if name not in self._stores:
            self._stores.add(name)
            self._builder.add_state_store(builder)
        return name

    def _input(self, agent: Agent, used: Usage) -> KStream[Any, Any]:
        channel = agent.channel
        stream = channel if isinstance(channel, KStream) else self._read(channel)
        for stage in stages_of(agent.function, used.names):
            steps = stage.steps
            if steps:
                stream = _stepped(stream, steps)
            if isinstance(stage, Detour):
                stream.to(stage.topic.name, Produced(stage.topic.key_serde, stage.topic.value_serde))
                stream = self._read(stage.topic)
            else:
                stream = _regrouped(stream, stage, agent)
        return stream

    def _read(self, topic: Topic) -> KStream[Any, Any]:
        where = topic.pattern or list(topic.names)
        return self._builder.stream(where, Consumed(topic.key_serde, topic.value_serde))


def _stepped(stream: KStream[Any, Any], steps: tuple[Any, ...]) -> KStream[Any, Any]:
    def apply(value: Any) -> list[Any]:
        result = apply_steps(steps, value)
        return [] if result is SKIPPED else [result]

    # Steps filter, and may change values as long as they stay of their type.
    return with_serdes(stream.flat_map_values(apply), *serdes_of(stream))


def _regrouped(stream: KStream[Any, Any], stage: Regrouping, agent: Agent) -> KStream[Any, Any]:
    key = stage.key

    def new_key(_: Any, value: Any) -> Any:
        return key(value)

    options = Repartitioned(stage.key_serde, serdes_of(stream)[1], f"{agent.name}-{stage.name}", stage.partitions)
    return stream.select_key(new_key).repartition(options)


def _key(topic: Topic, stream: KStream[Any, Any]) -> Any:
    """The serde of a sink's keys, which are those of the agent's records."""
    return topic.key_serde if topic.key_type is not None else serdes_of(stream)[0]
