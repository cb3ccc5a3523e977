"""SET, DEFINE, RUN SCRIPT and ASSERT."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.sql.engine.answers.entities import AssertSchemaResult, AssertTopicResult, WarningEntity
from millstream.sql.engine.api import Ksql
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription
from millstream.sql.errors import StatementError
from millstream.sql.formats import InMemoryRegistry, RegisteredSchema


@pytest.fixture
def ksql() -> Ksql:
    return Ksql.in_memory()


def test_set_and_unset(ksql: Ksql) -> None:
    create = "CREATE STREAM s{} (a INT) WITH (kafka_topic='s');"
    ksql.execute("SET 'ksql.persistence.default.format.value' = 'JSON';" + create.format(1))
    ksql.execute("UNSET 'ksql.persistence.default.format.value';")
    with pytest.raises(StatementError, match="missing the 'VALUE_FORMAT' property"):
        ksql.execute(create.format(2))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SET 'ksql.unknown' = '1';", "Unknown property: ksql.unknown"),
        ("UNSET 'ksql.unknown';", "Unknown property: ksql.unknown"),
        ("SET 'ksql.service.id' = 'mine';", "Cannot override property 'ksql.service.id'"),
        ("SET 'ksql.suppress.enabled' = 'perhaps';", "Expected value to be either true or false"),
    ],
)
def test_what_cannot_be_set(ksql: Ksql, statement: str, message: str) -> None:
    with pytest.raises(StatementError) as caught:
        ksql.execute(statement)
    assert message in caught.value.primary


def test_variables(ksql: Ksql) -> None:
    ksql.execute("DEFINE name = 'visits'; DEFINE format = 'JSON';")
    ksql.execute("CREATE STREAM ${NAME} (a INT) WITH (kafka_topic='${name}', value_format='${format}');")
    assert ksql.catalogue.sources["VISITS"].topic == "visits"
    ksql.execute("UNDEFINE name;")
    (answer,) = ksql.execute("UNDEFINE name;")
    assert isinstance(answer, WarningEntity)
    ksql.execute("SET 'ksql.variable.substitution.enable' = 'false';")
    ksql.execute("CREATE STREAM w (a INT) WITH (kafka_topic='${format}', value_format='JSON');")
    assert ksql.catalogue.sources["W"].topic == "${format}"


def test_scripts(ksql: Ksql, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "-- made by a test\nCREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON');", encoding="utf-8"
    )
    ksql.execute(f"RUN SCRIPT '{script}';")
    assert "S" in ksql.catalogue.sources
    with pytest.raises(StatementError, match="Failed to read file"):
        ksql.execute(f"RUN SCRIPT '{tmp_path}/nothing.sql';")


def test_statements_before_a_wrong_one_stay_executed(ksql: Ksql) -> None:
    with pytest.raises(StatementError):
        ksql.execute("CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON'); DROP STREAM x;")
    assert "S" in ksql.catalogue.sources


def test_nothing_is_executed_of_a_text_that_cannot_be_parsed(ksql: Ksql) -> None:
    with pytest.raises(StatementError):
        ksql.execute("CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON'); NONSENSE;")
    assert not ksql.catalogue.sources


def test_topics_can_be_asserted() -> None:
    ksql = Ksql.in_memory()
    assert isinstance(ksql.topics, InMemoryTopics)
    ksql.topics.create(TopicDescription("three", 3))
    (answer,) = ksql.execute("ASSERT TOPIC three WITH (PARTITIONS=3, REPLICAS=1);")
    assert answer == AssertTopicResult(
        statement_text="ASSERT TOPIC three WITH (PARTITIONS=3, REPLICAS=1);", topic_name="three", exists=True
    )
    with pytest.raises(StatementError, match="For config partitions, expected 2 got 3"):
        ksql.execute("ASSERT TOPIC three WITH (PARTITIONS=2) TIMEOUT 0 SECONDS;")
    with pytest.raises(StatementError, match="Topic three exists"):
        ksql.execute("ASSERT NOT EXISTS TOPIC three TIMEOUT 0 SECONDS;")
    with pytest.raises(StatementError, match="Cannot assert unknown topic property: COLOUR"):
        ksql.execute("ASSERT TOPIC three WITH (COLOUR=1);")


def test_schemas_can_be_asserted() -> None:
    registry = InMemoryRegistry()
    number = registry.register("a-value", RegisteredSchema("AVRO", '"int"'))
    ksql = Ksql.in_memory(registry=registry)
    (answer,) = ksql.execute(f"ASSERT SCHEMA SUBJECT 'a-value' ID {number};")
    assert isinstance(answer, AssertSchemaResult)
    ksql.execute("ASSERT NOT EXISTS SCHEMA SUBJECT 'b-value';")
    with pytest.raises(StatementError, match="Schema with subject name b-value does not exist"):
        ksql.execute("ASSERT SCHEMA SUBJECT 'b-value' TIMEOUT 0 SECONDS;")
    with pytest.raises(StatementError, match="Schema with subject name a-value with id 99 does not exist"):
        ksql.execute("ASSERT SCHEMA SUBJECT 'a-value' ID 99 TIMEOUT 0 SECONDS;")
