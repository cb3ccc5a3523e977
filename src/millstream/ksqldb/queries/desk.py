"""Where queries are answered: SELECT and PRINT."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from millstream.config import StreamsConfig
from millstream.hosting.transient.access import KafkaAccess, TopicAccess
from millstream.hosting.transient.hosted import HostedTopology
from millstream.hosting.transient.loop import ReadingLoop, Work
from millstream.hosting.transient.places import Places
from millstream.hosting.transient.tasks import source_topics
from millstream.ksqldb.api import Answer, AnswerKind, End, Row, ServiceError
from millstream.ksqldb.queries.answers import LiveAnswer, WholeAnswer
from millstream.ksqldb.queries.audience import Audience
from millstream.ksqldb.queries.failures import told_as_service_errors
from millstream.ksqldb.queries.prepared_pulls import PreparedPulls
from millstream.ksqldb.queries.printing import Printing
from millstream.ksqldb.queries.pulls import PullLimits
from millstream.ksqldb.queries.sharing import SharedQuery, sharing_key
from millstream.sql.engine.answers.printing import check_print
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import PersistentQuery, PushQuery
from millstream.sql.engine.runners.applications import application_config
from millstream.sql.engine.statements.selection import TableLookup, TopicReading, plan_select
from millstream.sql.errors import SqlError
from millstream.sql.tree.statements import PrintTopic, SelectQuery

#: How long a broker may keep a request that finds nothing, in milliseconds: as long as nobody waits to hear of it.
_LONG_WAIT = 5_000
_SHORT_WAIT = 200
_LEAVING_SECONDS = 5.0
_ENDLESS = frozenset({AnswerKind.PUSH, AnswerKind.PRINT})


@dataclass(frozen=True)
class _Live:
    """What a client is looking at."""

    answer: LiveAnswer
    text: str


class QueryDesk:
    """Answers queries. Its methods may be called from any thread.

    Args:
        config: where the brokers are and how to reach them.
        access: how topics are read; on the brokers of the configuration unless given.
    """

    def __init__(self, config: StreamsConfig, *, access: TopicAccess | None = None) -> None:
        self._config = replace(config, statestore_cache_max_bytes=0, dsl_store="in_memory", state_dir=None)
        self._access = KafkaAccess(config) if access is None else access
        self._pulls = PullLimits()
        self._prepared = PreparedPulls()
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}
        #: Held until a query that is shared has begun: of those who ask at the same time, one runs it.
        self._sharing = threading.Lock()
        self._shared: list[SharedQuery] = []
        self._loops: set[ReadingLoop] = set()

    # --- what a service asks

    def answer(self, context: Context, text: str) -> Answer:
        """Begin to answer a single SELECT or PRINT.

        Args:
            context: the state of the engine as the client sees it, with the settings and variables of the request.
                No statement may change it meanwhile.
            text: the statement.

        Raises:
            ServiceError: it cannot be answered.
        """
        with told_as_service_errors(text):
            known = self._prepared.find(context, text)
            if known is not None:
                return self._look_up(context, known)
            parsed = Engine(context).parse(text)
            if isinstance(parsed.statement, PrintTopic):
                return self._print(context, parsed.statement, parsed.text)
            if not isinstance(parsed.statement, SelectQuery):
                kind = type(parsed.statement).__name__
                raise SqlError(
                    f"Statement type `{kind}` not supported for this resource",
                    hint="send a single SELECT or PRINT; other statements go to /ksql",
                )
            query_id = f"transient_{parsed.statement.query.source.name}_{secrets.randbits(63)}"
            found = plan_select(context, parsed.statement, parsed.text, query_id)
            if isinstance(found, TableLookup):
                self._prepared.keep(context, text, found)
                return self._look_up(context, found)
            if found.to_end:
                return self._read_to_end(context, found)
            return self._push(context, found)

    def close(self, query_id: str) -> bool:
        """End a push query; False if there is none of that id. Ids are known in any case, as SQL has them."""
        for live in self._running():
            if live.answer.kind is AnswerKind.PUSH and live.answer.query_id.upper() == query_id.upper():
                live.answer.complete()
                return True
        return False

    def push_queries(self) -> list[PushQuery]:
        """The push queries that run."""
        return [
            PushQuery(live.answer.query_id, live.text)
            for live in self._running()
            if live.answer.kind is AnswerKind.PUSH
        ]

    def stop(self) -> None:
        """End all answers, and wait a little until nothing is read any more."""
        for live in self._running():
            if live.answer.kind is AnswerKind.STREAM_PULL:
                live.answer.finish(End(error=ServiceError(50303, "the server ends: rows are missing")))
            else:
                live.answer.complete()
        with self._lock:
            loops = list(self._loops)
        for loop in loops:
            loop.stop()
        for loop in loops:
            loop.join(_LEAVING_SECONDS)

    # --- pull queries

    def _look_up(self, context: Context, lookup: TableLookup) -> Answer:
        """A pull query of a table: its rows are looked up here and now."""
        self._pulls.enter(context.settings)
        try:
            rows = [Row(values) for values in lookup.rows(context)]
        finally:
            self._pulls.leave()
        self._pulls.sent(context.settings, rows)
        return WholeAnswer(f"query_{secrets.randbits(63)}", lookup.columns, rows)

    def _read_to_end(self, context: Context, reading: TopicReading) -> Answer:
        """A pull query of a stream: of the records that its topics have now."""
        query_id = reading.prepared.planned.plan.query_id
        answer = LiveAnswer(query_id, AnswerKind.STREAM_PULL, reading.columns, limit=reading.limit)
        self._pulls.enter(context.settings)
        answer.when_over(self._pulls.leave)
        with self._lock:
            self._live[query_id] = _Live(answer, reading.prepared.text)
        answer.when_over(partial(self._forget, query_id))
        if answer.end is None:  # not LIMIT 0
            with _closing_if_refused(answer):
                self._run(context, reading, Audience(answer), from_beginning=True)
        return answer

    # --- push queries

    def _push(self, context: Context, reading: TopicReading) -> Answer:
        query_id, text = reading.prepared.planned.plan.query_id, reading.prepared.text
        answer = LiveAnswer(query_id, AnswerKind.PUSH, reading.columns, limit=reading.limit)
        self._admit(context, answer, text)
        if answer.end is not None:
            return answer  # LIMIT 0
        with _closing_if_refused(answer):
            from_beginning = _from_beginning(context)
            key = None if from_beginning else sharing_key(context, reading, text)
            if key is None:
                self._run(context, reading, Audience(answer), from_beginning=from_beginning)
            else:
                self._share(context, reading, answer, key)
        return answer

    def _share(self, context: Context, reading: TopicReading, answer: LiveAnswer, key: object) -> None:
        """Join a query that runs, or run one that others may join."""
        with self._sharing:
            self._shared = [shared for shared in self._shared if shared.audience.is_there]
            if any(shared.key == key and shared.audience.join(answer) for shared in self._shared):
                return
            audience = Audience(answer)
            self._run(context, reading, audience, from_beginning=False)
            self._shared.append(SharedQuery(key, audience))

    # --- PRINT

    def _print(self, context: Context, statement: PrintTopic, text: str) -> Answer:
        try:
            check_print(context, statement)
        except SqlError as error:
            raise ServiceError(40000, error.primary) from error
        answer = LiveAnswer(f"print_{secrets.randbits(63)}", AnswerKind.PRINT)
        if statement.limit == 0:
            answer.complete()
            return answer
        self._admit(context, answer, text)
        with _closing_if_refused(answer):
            audience = Audience(answer)
            places = self._access.places([statement.topic], from_beginning=statement.from_beginning)
            self._start(answer.query_id, Printing(statement, audience), places, _LONG_WAIT)
        return answer

    # --- running

    def _admit(self, context: Context, answer: LiveAnswer, text: str) -> None:
        """Let a client look on, unless too many do."""
        most = context.settings["ksql.max.push.queries"]
        with self._lock:
            if sum(live.answer.kind in _ENDLESS for live in self._live.values()) >= most:
                raise ServiceError(
                    40003,
                    "Maximum number of concurrent push queries exceeded",
                    detail=f"{most} run already",
                    hint="end one of them, or set ksql.max.push.queries of the server",
                )
            self._live[answer.query_id] = _Live(answer, text)
        answer.when_over(partial(self._forget, answer.query_id))

    def _running(self) -> list[_Live]:
        with self._lock:
            return list(self._live.values())

    def _forget(self, query_id: str) -> None:
        with self._lock:
            self._live.pop(query_id, None)

    def _run(self, context: Context, reading: TopicReading, audience: Audience, *, from_beginning: bool) -> None:
        """Run a query for its audience; where it begins is settled when this returns."""
        query = reading.build(context, audience.take)
        places = self._access.places(source_topics(query.topology), from_beginning=from_beginning)
        work = HostedTopology(
            query.topology,
            self._application(context, query),
            places,
            to_end=reading.to_end,
            delivered=audience.deliver,
            ended=audience.ended,
        )
        if reading.to_end and places.starts == places.ends:
            work.ended(None)
        else:
            self._start(query.id, work, places, _SHORT_WAIT if work.waits_for_ends else _LONG_WAIT)

    def _application(self, context: Context, query: PersistentQuery) -> StreamsConfig:
        # Nothing in Kafka is called after it, so that names of sources that Kafka would not take do no harm.
        named = replace(query, application_id=context.application_id(f"transient_{query.id.rsplit('_', 1)[-1]}"))
        # Every change is a row, whatever the session says of caches.
        return replace(application_config(self._config, named, context.log), statestore_cache_max_bytes=0)

    def _start(self, query_id: str, work: Work, places: Places, waiting: int) -> None:
        loop = ReadingLoop(query_id, partial(self._access.open, places, waiting=waiting), work)
        with self._lock:
            self._loops = {other for other in self._loops if other.is_running}
            self._loops.add(loop)
            loop.start()


@contextmanager
def _closing_if_refused(answer: LiveAnswer) -> Iterator[None]:
    """Forget an answer that cannot begin."""
    try:
        yield
    except BaseException:
        answer.close()
        raise


def _from_beginning(context: Context) -> bool:
    """Whether the session wants the records that topics have already."""
    reset = context.settings.get("auto.offset.reset", "latest")
    if reset not in ("earliest", "latest"):
        raise SqlError(f"Invalid value {reset} for configuration auto.offset.reset: must be earliest or latest")
    return bool(reset == "earliest")
