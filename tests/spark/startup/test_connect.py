"""Spark Connect is refused in plain words, before anything is started."""

from __future__ import annotations

import pytest

from millstream import StreamsBuilder, StreamsConfig, StreamsError
from millstream.spark.startup import preflight
from millstream.spark.startup.session import spark_session


class Remote:
    """A session of Spark Connect, as far as it is looked at: the real one wants gRPC to be imported."""

    __module__ = "pyspark.sql.connect.session"


def test_the_environment_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:15002")
    with pytest.raises(StreamsError, match="cannot use Spark Connect") as refused:
        preflight.check(StreamsBuilder().build(), StreamsConfig())
    assert "SPARK_REMOTE is sc://host:15002" in (refused.value.detail or "")
    assert (refused.value.hint or "").startswith("unset SPARK_REMOTE; give the address of the cluster itself")


@pytest.mark.parametrize("asked", [{"spark.remote": "sc://host"}, {"spark.api.mode": "connect"}])
def test_the_configuration_asks_for_it(asked: dict[str, str]) -> None:
    with pytest.raises(StreamsError, match="cannot use Spark Connect") as refused:
        spark_session(StreamsConfig(spark=asked))
    assert f"leave {next(iter(asked))} out" in (refused.value.hint or "")


def test_a_session_of_it_is_given() -> None:
    with pytest.raises(StreamsError, match="cannot use Spark Connect") as refused:
        spark_session(StreamsConfig(), Remote())  # type: ignore[arg-type]
    assert "pyspark.sql.connect.session.Remote" in (refused.value.detail or "")
