"""An application as it is declared: agents, the topics and tables they use, and what is done beside records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import tzinfo
from typing import Any, TypeVar

from millstream.agents.agent import Agent, Sink
from millstream.agents.compiling import Compiler
from millstream.agents.jobs import Jobs, Page
from millstream.agents.settings import Settings, read_settings
from millstream.agents.surroundings import Surroundings
from millstream.agents.tables import Table, TableBase
from millstream.agents.times import Seconds, to_milliseconds, to_timedelta
from millstream.agents.topics import Topic
from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.streams.kstream import KStream
from millstream.errors import TopologyError
from millstream.topology.topology import Topology

F = TypeVar("F", bound=Callable[..., Any])


class Declared:
    """What decorators and calls have declared so far; `App` adds how it is run and tested.

    Args:
        id: names the application.
        settings: see `read_settings`.
    """

    def __init__(self, id: str, **settings: Any) -> None:
        self.conf: Settings = read_settings(id, settings)
        self.id = self.conf.streams.application_id
        self.surroundings = Surroundings()
        self.agents: dict[str, Agent] = {}
        self.tables: dict[str, TableBase] = {}
        self.topics: list[Topic] = []
        self.jobs = Jobs()
        #: Streams and tables of the DSL, in the same topology.
        self.builder = StreamsBuilder(self.conf.streams)
        self._compiler = Compiler(self.builder)

    # --- topics, tables, agents

    def topic(self, *names: str, **options: Any) -> Topic:
        """A topic; the options are those of `Topic`. Faust's others are accepted and have no effect."""
        config = dict(options.pop("config", None) or {})
        if options.pop("compacting", None):
            config.setdefault("cleanup.policy", "compact")
        retention = options.pop("retention", None)
        if retention is not None:
            config.setdefault("retention.ms", str(to_milliseconds(retention, "retention")))
        for option in ("acks", "allow_empty", "deleting", "maxsize", "schema"):
            options.pop(option, None)
        for option in ("key_serializer", "value_serializer"):
            options.setdefault(option, getattr(self.conf, option))
        options["config"] = config
        topic = Topic(self.surroundings, *names, **options)
        self.topics.append(topic)
        return topic

    def Table(self, name: str, **options: Any) -> Table:
        """A table; see `Table`. Its changelog is `<id>-<name>-changelog`.

        How many partitions it has follows from the topics of the agents that use it. `default` makes the value of keys
        that are not there; types are as those of topics.
        """
        for option in ("help", "partitions", "recovery_buffer_size", "standby_buffer_size", "use_partitioner"):
            options.pop(option, None)
        table = Table(self.surroundings, name, persistent=self.conf.persistent, **options)
        if name in self.tables:
            raise TopologyError(f"there are two tables '{name}'", hint="give one of them another name")
        self.tables[name] = table
        return table

    def agent(
        self,
        channel: Topic | KStream[Any, Any] | str | None = None,
        *,
        name: str | None = None,
        sink: Iterable[Sink] = (),
        tables: Iterable[TableBase] = (),
        concurrency: int = 1000,
        **topic_options: Any,
    ) -> Callable[[Callable[..., Any]], Agent]:
        """Make an `async def` function with one parameter, the stream, an agent.

        Args:
            channel: the topic it reads, or a stream of the DSL. Without one it has a topic of its own, which others
                reach by `agent.send`, `cast` and `ask`.
            name: of the agent; by default that of the function.
            sink: where what it yields goes: topics, agents, functions, coroutine functions.
            tables: those it uses beside the ones that its code names.
            concurrency: how many records may be under way at once if it awaits something outside. The order of each
                key is kept, and so is the order of results.
            topic_options: of its own topic, `value_type` above all.
        """

        def decorate(function: Callable[..., Any]) -> Agent:
            called = name or function.__name__
            if called in self.agents:
                raise TopologyError(f"there are two agents '{called}'", hint="give one of them a name")
            for option in ("isolated_partitions", "supervisor_strategy", "use_reply_headers"):
                topic_options.pop(option, None)
            read = self.topic(channel) if isinstance(channel, str) else channel
            if read is None:
                read = self.topic(f"{self.id}-{called}", internal=True, **topic_options)
            agent = Agent(self.surroundings, called, function, read, sink, tables, concurrency)
            self.agents[called] = agent
            return agent

        return decorate

    def results(self, agent: Agent) -> KStream[Any, Any]:
        """What an agent yields, as a stream of the DSL, with the keys of the records it comes from."""
        return self._compiler.add(agent)

    def topology(self) -> Topology:
        """The topology of all agents, and of what `builder` has beside them."""
        for agent in self.agents.values():
            self._compiler.add(agent)
        topology = self.builder.build(self.conf.streams)
        self._compiler.demand_equal_partitions(topology)
        return topology

    # --- what is done beside records

    def timer(self, interval: Seconds, on_leader: bool = False, name: str | None = None) -> Callable[[F], F]:
        """Call a coroutine function every so often, in the process that was started."""
        return self.jobs.timer(to_timedelta(interval, "interval"))

    def crontab(self, when: str, timezone: tzinfo | None = None, on_leader: bool = False) -> Callable[[F], F]:
        """Call a coroutine function at the times of a crontab line, in the process that was started."""
        return self.jobs.crontab(when, timezone or self.conf.timezone)

    def task(self, function: F | None = None, *, on_leader: bool = False) -> Any:
        """Call a coroutine function once, when the application runs; also as `@app.task()`."""
        return self.jobs.task if function is None else self.jobs.task(function)

    def page(self, path: str, name: str | None = None) -> Callable[[F], F]:
        """Have a function answer requests: `async def count(web, request, **match)`; `web.json(...)` is an answer."""

        def decorate(function: F) -> F:
            self.jobs.pages.append(Page(path, function))
            return function

        return decorate

    def table_route(
        self, table: TableBase, match_info: str | None = None, query_param: str | None = None, exact_key: Any = None
    ) -> Callable[[F], F]:
        """Nothing: a table can be read from any process, so that no request needs to be sent on."""
        return lambda function: function

    def topic_route(
        self, topic: Topic, match_info: str | None = None, query_param: str | None = None, exact_key: Any = None
    ) -> Callable[[F], F]:
        """Nothing, as `table_route`."""
        return lambda function: function

    def command(self, *options: Any, name: str | None = None, **more: Any) -> Callable[[F], F]:
        """Make a coroutine function a command of `app.main()`. Its parameters are its options, as in typer."""

        def decorate(function: F) -> F:
            self.jobs.commands[name or function.__name__.replace("_", "-")] = function
            return function

        return decorate

    async def send(self, channel: Topic | Agent | str, key: Any = None, value: Any = None, **options: Any) -> Any:
        """Send a record to a topic or an agent."""
        to = self.topic(channel) if isinstance(channel, str) else channel
        return await to.send(key=key, value=value, **options)

    def __repr__(self) -> str:
        return f"<App {self.id}>"
