"""`Ksql`: ksqlDB's language from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from millstream.config import StreamsConfig
from millstream.connect.client import ConnectClient, Connectors
from millstream.connect.settings import connect_access
from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.streams.kstream import KStream
from millstream.dsl.streams.ktable import KTable
from millstream.errors import MillstreamError
from millstream.sql.catalogue import Catalogue
from millstream.sql.engine import dsl
from millstream.sql.engine.answers.entities import Entity, QueryAnswer
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import PersistentQuery, Queries, QueryRunner
from millstream.sql.engine.runners.driver_queries import DriverQueries
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription, Topics
from millstream.sql.errors import StatementError
from millstream.sql.formats import InMemoryRegistry, SchemaRegistry
from millstream.sql.functions.registry import default_registry
from millstream.sql.functions.user import Source as UserFunctions
from millstream.sql.functions.user import add_user_functions
from millstream.sql.processing_log import ProcessingLog, PythonLog
from millstream.sql.settings import Settings

if TYPE_CHECKING:
    from millstream.sql.engine.runners.lane_queries import LaneQueries


class Ksql:
    """Executes statements; persistent queries run in lanes on Spark, all of them in one job.

        config = StreamsConfig(application_id="shop", bootstrap_servers="broker:9092")
        with Ksql(config) as ksql:
            ksql.execute("CREATE STREAM orders (id INT KEY, total INT) WITH (kafka_topic='orders', format='JSON');")
            ksql.execute("CREATE STREAM large AS SELECT * FROM orders WHERE total > 100;")
            ksql.wait()

    Args:
        config: where the brokers are, how Spark runs, the guarantee. Its `application_id` names the engine: it is in
            the names of all internal topics.
        settings: ksqlDB's properties, `ksql.*` and those of Kafka Streams.
        functions: modules with user functions (`@udf` and the like), or their names.
        registry: where schemas are; by default the registry that `ksql.schema.registry.url` names.
        log: what hears of records that cannot be processed.
    """

    def __init__(
        self,
        config: StreamsConfig,
        settings: Mapping[str, Any] | None = None,
        *,
        functions: Iterable[UserFunctions] = (),
        registry: SchemaRegistry | None = None,
        log: ProcessingLog | None = None,
    ) -> None:
        from millstream.kafka.embedded import with_broker  # a test in memory needs neither Kafka nor Spark
        from millstream.sql.engine.runners.kafka_topics import KafkaTopics
        from millstream.sql.engine.runners.lane_queries import LaneQueries

        log = PythonLog() if log is None else log
        config = with_broker(config)
        values = {"ksql.service.id": f"{config.application_id}_", **(settings or {})}
        runner = LaneQueries(config, log)
        topics = KafkaTopics(config)
        self._start(topics, runner, Settings(values), functions, registry, log)
        self._spark: LaneQueries | None = runner
        self._leave: Callable[[], None] = topics.close

    @classmethod
    def in_memory(
        cls,
        settings: Mapping[str, Any] | None = None,
        *,
        functions: Iterable[UserFunctions] = (),
        registry: SchemaRegistry | None = None,
        log: ProcessingLog | None = None,
    ) -> Ksql:
        """An engine for tests: topics are in memory, queries run in test drivers, one record at a time.

        Topics that statements name are there, with one partition.

        >>> ksql = Ksql.in_memory()
        >>> _ = ksql.execute("CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');")
        >>> _ = ksql.execute("CREATE STREAM doubled AS SELECT id, v * 2 AS v FROM s;")
        >>> _ = ksql.execute("INSERT INTO s VALUES (1, 21);")
        >>> [record.value for record in ksql.topics.read("DOUBLED", from_beginning=True)]
        [b'{"V":42}']
        """
        ksql = object.__new__(cls)
        topics = InMemoryTopics(TopicDescription)
        log = PythonLog() if log is None else log
        known = InMemoryRegistry() if registry is None else registry
        ksql._start(topics, DriverQueries(topics, log), Settings(settings or {}), functions, known, log)
        ksql._spark = None
        ksql._leave = lambda: None
        return ksql

    def _start(
        self,
        topics: Topics,
        runner: QueryRunner,
        settings: Settings,
        functions: Iterable[UserFunctions],
        registry: SchemaRegistry | None,
        log: ProcessingLog,
    ) -> None:
        known = default_registry()
        add_user_functions(known, functions)
        self._engine = Engine(
            Context(
                functions=known,
                topics=topics,
                queries=Queries(runner),
                settings=settings,
                registry=configured_registry(settings) if registry is None else registry,
                connectors=configured_connectors(settings),
                log=log,
                scripts=True,
            )
        )

    def execute(self, sql: str) -> list[Entity]:
        """Execute statements, in order; those before one that fails stay executed.

        Returns:
            What they answer; INSERT VALUES, SET and the like answer nothing.

        Raises:
            StatementError: a statement cannot be executed.
        """
        return self._engine.execute(sql)

    def query(self, sql: str) -> QueryAnswer:
        """The answer to a single SELECT.

        A pull query (without EMIT) of a table is answered from the store behind it: on Kafka by a view of the query
        that makes the table, with what it has committed. A pull query of a stream, and a push query (EMIT CHANGES),
        read the topics to their end; a server goes on with push queries.

        Raises:
            StatementError: it cannot be answered, or is no SELECT.
        """
        entities = self._engine.execute(sql)
        answer = entities[-1] if entities else None
        if len(entities) != 1 or not isinstance(answer, QueryAnswer):
            raise StatementError("only a single SELECT can be asked", statement=sql, hint="use execute")
        return answer

    def run(self, sql: str) -> Iterator[Entity]:
        """Execute statements, giving the answer of each before the next is executed; see `execute`."""
        return self._engine.run(sql)

    # --- what there is

    @property
    def catalogue(self) -> Catalogue:
        """Streams, tables and types."""
        return self._engine.context.catalogue

    @property
    def topics(self) -> Topics:
        """The topics of the cluster."""
        return self._engine.context.topics

    @property
    def queries(self) -> list[PersistentQuery]:
        """The persistent queries."""
        return list(self._engine.context.queries)

    # --- with the DSL

    def stream(self, name: str, builder: StreamsBuilder) -> KStream[Any, dict[str, Any]]:
        """A stream as one of the DSL.

        Values are dicts by column. Keys are plain, or tuples when they have several columns.

        >>> from millstream import StreamsBuilder
        >>> ksql = Ksql.in_memory()
        >>> _ = ksql.execute("CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON');")
        >>> builder = StreamsBuilder()
        >>> large = ksql.stream("s", builder).filter(lambda key, value: value["V"] > 100)
        """
        return dsl.read_stream(self._engine.context, name, builder)

    def table(self, name: str, builder: StreamsBuilder) -> KTable[Any, dict[str, Any]]:
        """A table as one of the DSL; see `stream`."""
        return dsl.read_table(self._engine.context, name, builder)

    def register_stream(
        self,
        name: str,
        stream: KStream[Any, Any],
        columns: str,
        *,
        topic: str | None = None,
        key_format: str = "KAFKA",
        value_format: str = "JSON",
        partitions: int | None = None,
    ) -> Entity:
        """Make a stream of the DSL known to SQL: it is written to a topic, and the topic becomes a stream.

        The topology that the stream belongs to is run by its own application, as ever.

        Args:
            name: of the stream in SQL.
            stream: its values are dicts by column, its keys as `stream` gives them.
            columns: as CREATE STREAM lists them: `id INT KEY, total INT`.
            topic: where it is written; by default it is called like the stream.
            key_format: of the topic.
            value_format: of the topic.
            partitions: of a topic that is not there yet.
        """
        target = topic or name
        properties = [
            f"kafka_topic='{target}'",
            f"key_format='{key_format}'",
            f"value_format='{value_format}'",
            *([] if partitions is None else [f"partitions={partitions}"]),
        ]
        (entity,) = self.execute(f"CREATE STREAM {name} ({columns}) WITH ({', '.join(properties)});")
        dsl.write_stream(self._engine.context, name, stream)
        return entity

    # --- life

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Until all queries are stopped or one failed; False if the timeout comes first.

        Raises:
            MillstreamError: a query failed.
        """
        return True if self._spark is None else self._spark.wait(timeout)

    def metrics(self) -> dict[str, dict[str, float]]:
        """The numbers of each persistent query by its id: tasks, records processed and dropped, and those that wait."""
        return {} if self._spark is None else self._spark.figures()

    @property
    def failure(self) -> MillstreamError | None:
        """Why a query failed, if one did."""
        return None if self._spark is None else self._spark.failure

    def close(self) -> None:
        """Stop all queries. They go on from where they were when the same statements are executed again."""
        self._engine.context.queries.runner.close()
        self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def configured_registry(settings: Settings) -> SchemaRegistry | None:
    """The registry that `ksql.schema.registry.url` names, if it is set."""
    url = settings.get("ksql.schema.registry.url")
    if not url:
        return None
    from millstream.registry.confluent import ConfluentRegistry  # its HTTP client takes long to import

    return ConfluentRegistry(url)


def configured_connectors(settings: Settings) -> Connectors | None:
    """The Connect cluster that `ksql.connect.url` names, if it is set."""
    if "ksql.connect.url" not in settings.set_values():
        return None
    return ConnectClient(connect_access(settings))
