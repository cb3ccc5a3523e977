"""Settings: what is known, what types values have, and what a session lays over them."""

from __future__ import annotations

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.settings import Settings


def test_defaults_are_those_of_ksqldb() -> None:
    settings = Settings()
    assert settings["ksql.persistence.default.format.key"] == "KAFKA"
    assert settings["ksql.create.or.replace.enabled"] is True
    assert settings.get("ksql.persistence.default.format.value") is None
    assert settings.get("ksql.persistence.default.format.value", "JSON") == "JSON"


def test_text_becomes_the_type_of_the_property() -> None:
    settings = Settings({"ksql.suppress.enabled": "FALSE", "ksql.internal.topic.replicas": " 3 "})
    assert settings["ksql.suppress.enabled"] is False
    assert settings["ksql.internal.topic.replicas"] == 3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ksql.no.such.thing", "1", "Unknown property: ksql.no.such.thing"),
        ("ksql.suppress.enabled", "maybe", "Expected value to be either true or false"),
        ("ksql.internal.topic.replicas", "many", "Not a number of type INT"),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        Settings({name: value})
    with pytest.raises(SqlError, match=message):
        Settings().with_override(name, value)


def test_a_session_lays_values_over_the_configured_ones() -> None:
    configured = Settings({"ksql.output.topic.name.prefix": "all-"})
    session = configured.with_override("ksql.output.topic.name.prefix", "mine-")
    assert session["ksql.output.topic.name.prefix"] == "mine-"
    assert configured["ksql.output.topic.name.prefix"] == "all-"
    assert session.without_override("ksql.output.topic.name.prefix")["ksql.output.topic.name.prefix"] == "all-"


def test_properties_of_kafka_streams_are_known_with_and_without_prefix() -> None:
    settings = Settings({"ksql.streams.commit.interval.ms": "100"})
    assert settings["commit.interval.ms"] == 100
    assert settings["ksql.streams.commit.interval.ms"] == 100
    assert Settings({"auto.offset.reset": "earliest"})["ksql.streams.auto.offset.reset"] == "earliest"


def test_settings_of_functions_go_by_their_prefix() -> None:
    settings = Settings({"ksql.functions.substring.legacy.args": "true", "auto.offset.reset": "earliest"})
    assert settings.functions == {"ksql.functions.substring.legacy.args": "true"}


def test_unknown_names_have_no_value() -> None:
    with pytest.raises(KeyError):
        Settings()["no.such.property"]
    assert Settings().get("no.such.property", 7) == 7
