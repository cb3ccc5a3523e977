"""Secrets in statements."""

from __future__ import annotations

import pytest

from millstream.ksqldb.commands.masking import masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHOW STREAMS;", "SHOW STREAMS;"),
        ("CREATE STREAM s WITH (kafka_topic='t');", "CREATE STREAM s WITH (kafka_topic='t');"),
        ("set 'sasl.jaas.config'='it''s mine';", "set 'sasl.jaas.config'='[string]';"),
        ("DEFINE db_password = 'x';", "DEFINE db_password = '[string]';"),
        (
            "CREATE SOURCE CONNECTOR `c` WITH ('connector.class'='a', \"tasks.max\"='1', mongo_uri = 'u:p@h');",
            "CREATE SOURCE CONNECTOR `c` WITH ('connector.class'='a', \"tasks.max\"='1', mongo_uri = '[string]');",
        ),
        ("CREATE SINK CONNECTOR c WITH ('x'='secr", "CREATE SINK CONNECTOR c WITH ('x'='[string]'"),
    ],
)
def test_secrets_are_hidden(text: str, expected: str) -> None:
    assert masked(text) == expected
