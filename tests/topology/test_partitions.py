"""Partition counts of repartition topics and of joined topics."""

from __future__ import annotations

import pytest

from millstream.errors import TopologyError
from millstream.processors.operator import Operator
from millstream.topology import Topology, check_fixed_partitions, resolve_partitions


def joined(left_fixed: int | None = None, right_fixed: int | None = None, *, right_external: bool = False) -> Topology:
    """`a` re-keyed into `ra`, joined with `b` re-keyed into `rb`, or with `b` itself."""
    topology = Topology()
    topology.add_internal_topic("ra", left_fixed)
    topology.add_source("a", "a").add_sink("ra-sink", "ra", "a").add_source("ra-source", "ra")
    topology.add_source("b", "b")
    right = "b"
    if not right_external:
        topology.add_internal_topic("rb", right_fixed)
        topology.add_sink("rb-sink", "rb", "b").add_source("rb-source", "rb")
        right = "rb-source"
    topology.add_operator("join", Operator, "ra-source", right)
    topology.copartition(["ra-source", right])
    return topology


def failure(topology: Topology, external: dict[str, int]) -> TopologyError:
    with pytest.raises(TopologyError) as error:
        resolve_partitions(topology, external)
    return error.value


def test_a_repartition_topic_has_the_greatest_count_of_what_its_writer_reads(rekeyed: Topology) -> None:
    assert resolve_partitions(rekeyed, {"in": 3, "unrelated": 9}) == {"r": 3}
    topology = Topology()
    topology.add_internal_topic("r")
    topology.add_source("s", "x", "y").add_sink("k", "r", "s").add_source("t", "r")
    assert resolve_partitions(topology, {"x": 2, "y": 5}) == {"r": 5}


def test_counts_are_handed_down() -> None:
    topology = Topology()
    topology.add_internal_topic("r2")
    topology.add_internal_topic("r1")
    topology.add_source("s0", "in").add_sink("k1", "r1", "s0")
    topology.add_source("s1", "r1", "side").add_sink("k2", "r2", "s1").add_source("s2", "r2")
    assert resolve_partitions(topology, {"in": 6, "side": 2}) == {"r2": 6, "r1": 6}


def test_a_fixed_count_stays() -> None:
    topology = Topology()
    topology.add_internal_topic("r", 7)
    topology.add_source("s", "in").add_sink("k", "r", "s").add_source("t", "r")
    assert resolve_partitions(topology, {"in": 3}) == {"r": 7}


def test_joined_repartition_topics_get_the_greater_count() -> None:
    assert resolve_partitions(joined(), {"a": 2, "b": 5}) == {"ra": 5, "rb": 5}


def test_a_fixed_count_wins_among_joined_repartition_topics() -> None:
    assert resolve_partitions(joined(3), {"a": 2, "b": 5}) == {"ra": 3, "rb": 3}
    assert resolve_partitions(joined(3, 3), {"a": 2, "b": 5}) == {"ra": 3, "rb": 3}


def test_repartition_topics_follow_the_external_topic() -> None:
    assert resolve_partitions(joined(right_external=True), {"a": 8, "b": 5}) == {"ra": 5}
    assert resolve_partitions(joined(5, right_external=True), {"a": 8, "b": 5}) == {"ra": 5}


def test_a_fixed_count_against_an_external_topic() -> None:
    error = failure(joined(4, right_external=True), {"a": 8, "b": 5})
    assert error.primary == (
        "number of partitions [4] of repartition topic [ra] doesn't match number of partitions [5] of the source topic"
    )
    assert error.detail == "it is joined with b (5)"


def test_different_fixed_counts() -> None:
    error = failure(joined(4, 3), {"a": 8, "b": 5})
    assert error.primary == "following topics do not have the same number of partitions: ra (4), rb (3)"
    with pytest.raises(TopologyError, match=r"same number of partitions: ra \(4\), rb \(3\)"):
        check_fixed_partitions(joined(4, 3))
    check_fixed_partitions(joined(4, 4))
    check_fixed_partitions(joined(4))
    check_fixed_partitions(joined(4, right_external=True))


def test_external_topics_of_a_join_must_agree() -> None:
    topology = Topology().add_source("a", "a").add_source("b", "b").add_operator("join", Operator, "a", "b")
    topology.copartition(["a", "b"])
    assert resolve_partitions(topology, {"a": 2, "b": 2}) == {}
    error = failure(topology, {"a": 2, "b": 3})
    assert error.primary == "topics not co-partitioned: a (2), b (3)"
    assert error.hint == "repartition() one side first, or create the topics with equally many partitions"


def test_groups_with_a_common_topic_are_one() -> None:
    topology = Topology().add_source("a", "a").add_source("b", "b").add_source("c", "c").add_source("d", "d")
    topology.add_operator("join", Operator, "a", "b", "c", "d")
    topology.copartition(["a", "b"])
    topology.copartition(["c", "d"])
    topology.copartition(["b", "c"])
    assert failure(topology, {"a": 1, "b": 1, "c": 1, "d": 2}).primary == (
        "topics not co-partitioned: a (1), b (1), c (1), d (2)"
    )


def test_a_foreign_key_join_goes_back_and_forth() -> None:
    topology = Topology()
    topology.add_internal_topic("subscription")
    topology.add_internal_topic("response")
    topology.add_source("left", "left").add_source("response-source", "response")
    topology.add_operator("resolve", Operator, "left", "response-source")
    topology.add_sink("subscription-sink", "subscription", "resolve")
    topology.add_source("right", "right").add_source("subscription-source", "subscription")
    topology.add_operator("lookup", Operator, "right", "subscription-source")
    topology.add_sink("response-sink", "response", "lookup")
    topology.copartition(["left", "response-source"])
    topology.copartition(["right", "subscription-source"])
    assert resolve_partitions(topology, {"left": 2, "right": 7}) == {"subscription": 7, "response": 2}


def test_patterns_count_what_they_match() -> None:
    topology = Topology()
    topology.add_internal_topic("r")
    topology.add_source("s", pattern="in-.*").add_sink("k", "r", "s").add_source("t", "r")
    assert resolve_partitions(topology, {"in-1": 2, "in-2": 4, "other": 9}) == {"r": 4}
    assert failure(topology, {"other": 9}).primary == (
        "failed to compute number of partitions for all repartition topics"
    )


def test_missing_source_topics(rekeyed: Topology) -> None:
    error = failure(rekeyed, {"other": 1})
    assert error.primary == "missing source topics in"
    assert error.detail == "there are other"


def test_only_sources_are_copartitioned(rekeyed: Topology) -> None:
    rekeyed.copartition(["count"])
    assert failure(rekeyed, {"in": 1}).primary == "count cannot be co-partitioned"
