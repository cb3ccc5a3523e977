"""`App`: an application of agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millstream.agents.declared import Declared
from millstream.agents.testing import AgentTestContext, AppTestContext
from millstream.errors import StreamsError

if TYPE_CHECKING:
    from millstream.agents.host.worker import Worker


class App(Declared):
    """An application: agents, the topics and tables they use, timers, tasks, pages and commands.

    >>> app = App("greetings")
    >>> names = app.topic("names", key_type=str, value_type=str)
    >>> greetings = app.topic("greetings", key_type=str, value_type=str)
    >>> seen = app.Table("seen", key_type=str, value_type=int, default=int)
    >>> @app.agent(names, sink=[greetings])
    ... async def greet(stream):
    ...     async for name in stream:
    ...         seen[name] += 1
    ...         yield f"Hello, {name}, for the {seen[name]}. time"
    >>> with app.test_context() as test:
    ...     test.put(names, "Ann")
    ...     test.put(names, "Ann")
    ...     test.sent(greetings)
    ['Hello, Ann, for the 1. time', 'Hello, Ann, for the 2. time']

    Args:
        id: names the application: its consumer group, the topics it owns and its state.
        settings: Faust's settings and the options of `StreamsConfig`; see `docs/coming-from-faust.md`.
    """

    def __init__(self, id: str, **settings: Any) -> None:
        super().__init__(id, **settings)
        self._made_with = (id, settings)
        self.surroundings.agent_test = AgentTestContext

    def main(self, arguments: list[str] | None = None) -> None:
        """The command line: `python app.py worker`."""
        from millstream.agents.host.commands import main

        main(self, arguments)

    def start(self, *, once: bool = False) -> Worker:
        """Start it on Spark; `once` processes what is there and stops."""
        from millstream.agents.host.worker import Worker

        worker = Worker(self)
        worker.start(once=once)
        return worker

    @property
    def worker(self) -> Worker:
        """What runs the application in this process, for tasks, timers and pages."""
        from millstream.agents.host.worker import Worker

        running = self.surroundings.outside("look at the worker")
        if not isinstance(running, Worker):
            raise StreamsError("the application is not started in this process", hint="start() it, or run its worker")
        return running

    def test_context(self, **options: Any) -> AppTestContext:
        """The application without a broker, for tests: a context manager."""
        return AppTestContext(self, **options)

    def __reduce__(self) -> tuple[Callable[..., App], tuple[str, Mapping[str, Any]]]:
        # Agents that name their application in their code find one elsewhere that has its settings and nothing else.
        return _elsewhere, self._made_with


def _elsewhere(id: str, settings: Mapping[str, Any]) -> App:
    return App(id, **settings)
