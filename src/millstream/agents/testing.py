"""Testing agents without a broker: on the test driver, in the test's own process."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import orjson

from millstream.agents.agent import Agent
from millstream.agents.body.events import Event, Message
from millstream.agents.body.loops import running
from millstream.agents.body.outgoing import Outgoing
from millstream.agents.body.replies import CORRELATION_ID, REPLY_TO
from millstream.agents.compiling import Compiler
from millstream.agents.declared import Declared
from millstream.agents.times import Seconds, to_timedelta
from millstream.agents.topics import HeadersLike, Topic
from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.options import Consumed
from millstream.errors import ProcessingError, StreamsError
from millstream.records import Headers
from millstream.serdes import Serdes
from millstream.testing.driver import TopologyTestDriver

_REPLIES = "test-replies"


class AppTestContext:
    """An application in a test. Each record is processed when it is sent, with all that follows from it.

        with app.test_context() as test:
            test.put(orders, Order("a1", 3), key="a1")
            assert test.sent(invoices) == [Invoice("a1", 3)]
            assert totals["a1"] == 3

    Tables can be read. The wall clock stands still until `advance`, which also calls timers and crontabs that are due.

    Args:
        app: what to test.
        start: where the wall clock stands; now if missing.
    """

    def __init__(self, app: Declared, *, start: datetime | None = None) -> None:
        self._app = app
        self._start = start or datetime.now(UTC)
        self._now = self._start

    def __enter__(self) -> Self:
        app = self._app
        self.driver = TopologyTestDriver(app.topology(), app.conf.streams, wall_clock_start=self._start)
        app.surroundings.running = self
        self._due = [job.after(self._now) for job in app.jobs.repeated]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._app.surroundings.running = None
        self.driver.__exit__(kind, error, traceback)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    # --- for tests

    def put(
        self,
        to: Topic | Agent,
        value: Any = None,
        key: Any = None,
        *,
        timestamp: float | None = None,
        headers: HeadersLike = None,
    ) -> None:
        """Send a record to a topic or an agent, and have it processed; its timestamp is in seconds."""
        topic = to.topic if isinstance(to, Agent) else to
        topic.send_soon(key=key, value=value, timestamp=timestamp, headers=headers)

    def sent(self, topic: Topic) -> list[Any]:
        """The values that were sent to a topic since the last call."""
        return [value for _, value in self.sent_items(topic)]

    def sent_items(self, topic: Topic) -> list[tuple[Any, Any]]:
        """The keys and values that were sent to a topic since the last call."""
        output = self.driver.output_topic(topic.name, topic.key_serde, topic.value_serde)
        return output.read_key_values()

    def advance(self, duration: Seconds) -> None:
        """Move the wall clock on; everything that is due meanwhile is done at its time."""
        end = self._now + to_timedelta(duration, "duration")
        while self._due and (moment := min(self._due)) <= end:
            self._move_to(moment)
            number = self._due.index(moment)
            job = self._app.jobs.repeated[number]
            self._due[number] = job.after(moment)
            self._call(job.function)
        self._move_to(end)

    def run_tasks(self) -> None:
        """Call the application's tasks, each once."""
        for function in self._app.jobs.tasks:
            self._call(function)

    # --- `Outside`

    def send(self, key: bytes | None, outgoing: Outgoing, timestamp: int | None, headers: Headers | None) -> None:
        """See `Outside`."""
        at = self.now() if timestamp is None else timestamp
        self.driver.pipe(outgoing.topic, key, outgoing.value, at, None if headers is None else list(headers))

    def read(self, table: str, key: Any) -> Any:
        """See `Outside`."""
        row = self.driver.store(table).get(key)
        return None if row is None else row.value

    def read_window(self, table: str, key: Any, start: int) -> Any:
        """See `Outside`."""
        row = self.driver.store(table).fetch(key, start)
        return None if row is None else row.value

    def rows(self, table: str) -> list[tuple[Any, Any]]:
        """See `Outside`."""
        return [(key, row.value) for key, row in self.driver.store(table).all()]

    def now(self) -> int:
        """See `Outside`."""
        return int(self._now.timestamp() * 1000)

    async def ask(self, question: tuple[bytes | None, Outgoing], headers: Headers) -> Any:
        """See `Outside`."""
        correlation = uuid.uuid4().hex.encode()
        asking = Headers([*headers, (REPLY_TO, _REPLIES.encode()), (CORRELATION_ID, correlation)])
        self.send(question[0], question[1], None, asking)
        answers = self.driver.output_topic(_REPLIES, Serdes.bytes, Serdes.bytes).read_key_values()
        for key, value in answers:
            if key == correlation:
                return orjson.loads(value)
        raise StreamsError(
            f"there is no answer from topic {question[1].topic}", hint="the agent has to yield something for each value"
        )

    # --- inside

    def _move_to(self, moment: datetime) -> None:
        if moment > self._now:
            step, self._now = moment - self._now, moment
            self.driver.advance_wall_clock(step)

    def _call(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters
        answer = function(self._app) if parameters else function()
        if inspect.isawaitable(answer):
            run_here(answer)


class AgentTestContext:
    """One agent in a test: `await put(value)` has it process a record, `results` has what it yielded.

    Sinks and other agents are left out; tables are the agent's own.

    Args:
        agent: what to test.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._offsets = itertools.count()
        self._yielded: list[Any] = []
        #: What was yielded last for each record, by its number; the record's value if nothing was.
        self.results: dict[int, Any] = {}

    async def __aenter__(self) -> Self:
        agent = self._agent
        builder = StreamsBuilder()
        topic = agent.channel if isinstance(agent.channel, Topic) else None
        self._serdes = (Serdes.bytes, Serdes.json) if topic is None else (topic.key_serde, topic.value_serde)
        self._topic = "test-input" if topic is None or topic.pattern else topic.names[0]
        self._is_text = topic is not None and topic.key_type is None
        stream = builder.stream(self._topic, Consumed(*self._serdes))
        alone = Agent(agent._surroundings, agent.name, agent.function, stream, (), agent.tables, agent.in_flight)
        yielded = self._yielded
        Compiler(builder).add(alone).foreach(lambda key, value: yielded.append(value))
        self.driver = TopologyTestDriver(builder.build())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.driver.__exit__(kind, error, traceback)

    async def put(
        self,
        value: Any = None,
        key: Any = None,
        *,
        timestamp: float | None = None,
        headers: HeadersLike = None,
        wait: bool = True,
    ) -> Event:
        """Have the agent process a record; answers its event. What the agent raises is raised here."""
        if self._is_text and isinstance(key, str):
            key = key.encode()
        offset = next(self._offsets)
        at = round((datetime.now(UTC).timestamp() if timestamp is None else timestamp) * 1000)
        pairs = headers if isinstance(headers, Headers) else Headers(dict(headers or {}).items())  # type: ignore[arg-type]
        before = len(self._yielded)
        try:
            self.driver.input_topic(self._topic, *self._serdes).pipe(key, value, at, pairs)
        except ProcessingError as error:
            raise error.__cause__ or error from None
        self.results[offset] = self._yielded[-1] if len(self._yielded) > before else value
        return Event(key, value, Message(self._topic, 0, offset, at / 1000, pairs))

    async def advance(self, duration: Seconds) -> None:
        """Move the wall clock on, for `take`."""
        self.driver.advance_wall_clock(to_timedelta(duration, "duration"))


def run_here(awaitable: Any) -> Any:
    """Run a coroutine to its end in the test's own thread, also if the test is a coroutine itself."""

    async def whole() -> Any:
        return await awaitable

    with running(None):
        return asyncio.run(whole())
