"""The processing log as a topic and as a stream."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable

from confluent_kafka import Message

from millstream.config import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.ksqldb.commands.processing_log import TopicLog, flush, processing_log
from millstream.sql.engine.answers.entities import QueryAnswer
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.processing_log import PythonLog, record_error
from millstream.sql.settings import Settings

from .memory import MemoryCommandTopic, make_service, send, shape

AUTO = {
    "ksql.logging.processing.topic.auto.create": True,
    "ksql.logging.processing.stream.auto.create": True,
}


def test_topic_and_stream_are_made_for_a_new_service_alone() -> None:
    topic = MemoryCommandTopic()
    one = make_service(topic, settings=AUTO).start()
    source = one.context.catalogue.get("KSQL_PROCESSING_LOG")
    assert source is not None
    assert source.topic == "test_ksql_processing_log"
    assert source.topic in one.context.topics.names()
    two = make_service(topic, settings=AUTO).start()
    assert shape(one) == shape(two)
    send(two, "DROP STREAM ksql_processing_log;")
    three = make_service(topic, settings=AUTO).start()
    assert three.context.catalogue.get("KSQL_PROCESSING_LOG") is None
    for service in (one, two, three):
        service.close()


def test_entries_can_be_asked_for() -> None:
    topic = MemoryCommandTopic()
    service = make_service(topic, settings=AUTO).start()
    source = service.context.catalogue.sources["KSQL_PROCESSING_LOG"]
    service.close()
    ksql = Ksql.in_memory()
    ksql.execute(source.sql)
    entry = {"logger": "processing.Q.x", "level": "ERROR", "time": 5, "message": record_error("bad", ValueError("no"))}
    ksql.topics.write(TopicRecord(source.topic, None, json.dumps(entry).encode(), 0))
    answer = ksql.query(
        "SELECT logger, time, message->type, message->recordProcessingError->errorMessage, "
        "message->recordProcessingError->cause[1] FROM ksql_processing_log;"
    )
    assert isinstance(answer, QueryAnswer)
    assert answer.rows == (("processing.Q.x", 5, 1, "bad", "no"),)


def test_entries_go_to_the_topic(
    broker: DetachedBroker, make_topic: Callable[..., str], consume: Callable[..., list[Message]]
) -> None:
    config = StreamsConfig(application_id="log", bootstrap_servers=broker.bootstrap_servers)
    name = make_topic()
    log = processing_log(config, Settings({"ksql.logging.processing.topic.name": name}))
    assert log == TopicLog(config, name)
    pickle.loads(pickle.dumps(log)).error("processing.Q", record_error("bad", None))  # noqa: S301 - our own
    flush(30)
    (message,) = consume(name, 1)
    entry = json.loads(message.value() or b"")
    assert (entry["logger"], entry["level"], entry["message"]["type"]) == ("processing.Q", "ERROR", 1)


def test_without_a_topic_it_is_pythons() -> None:
    assert processing_log(StreamsConfig(), Settings()) == PythonLog()
