"""Which conformance topologies run on Spark, and what they are given."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millstream import LogAndContinueProcessingExceptionHandler, StreamsConfig, Topology
from millstream.testing.conformance.build import build
from millstream.testing.conformance.case import Case, Json
from millstream.testing.conformance.operators.handles import Scope

from .feeds import KEYS, Feed, Input

#: The configuration and operators of the cases used here, as the conformance set has them.
TOPOLOGIES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "topologies.json").read_text(encoding="utf-8")
)
GUARANTEES = ("exactly_once_v2", "at_least_once")

#: How many topologies make an application; 1 runs each alone, which takes about twice as long.
_TOGETHER = int(os.environ.get("MILLSTREAM_PARITY_TOGETHER", "8"))
#: Fields of operators that name results, stores and nodes.
_NAMES = ("in", "left", "name", "other", "out", "right", "store")


@dataclass(frozen=True)
class Parity:
    """A topology with its input.

    Args:
        case: the conformance case whose topology it is.
        feed: the input.
        split: process the input in several batches, so that state is carried from batch to batch. For topologies in
            which only the order of each partition counts.
        by_partition: compare with one driver for each partition, which gets the records of that partition. For what
            depends on how the times of one task's keys meet: punctuation, buffers of limited size or time.
        blur: a pattern to leave out of values.
        disk: keep state in RocksDB.
    """

    case: str
    feed: Feed
    split: bool = False
    by_partition: bool = False
    blur: str | None = None
    disk: bool = False

    @property
    def slug(self) -> str:
        """The case's name as part of a topic's name."""
        return re.sub(r"[^a-z0-9]+", "-", self.case.lower())

    @property
    def options(self) -> dict[str, Any]:
        """What the case configures."""
        config = TOPOLOGIES[self.case]["config"]
        options: dict[str, Any] = {
            "topology_optimization": config["optimization"],
            "dsl_store": config["store_type"],
        }
        if config.get("processing_exception") == "continue":
            options["processing_exception_handler"] = LogAndContinueProcessingExceptionHandler()
        return options

    def phases(self, prefix: str) -> list[list[Input]]:
        """The input with the names of topics that `build` gives them."""
        return [
            [replace(record, topic=self._topic(prefix, record.topic)) for record in phase] for phase in self.feed.phases
        ]

    def topics(self, prefix: str) -> set[str]:
        """The topics it reads, user topics that it writes itself included."""
        reads = [op for op in TOPOLOGIES[self.case]["topology"] if op["op"] in ("stream", "table", "global_table")]
        return {self._topic(prefix, topic) for op in reads for topic in op.get("topics", [op.get("topic")])}

    def operators(self, prefix: str) -> list[Json]:
        """The topology's operators with names and topics of their own."""
        operators: list[Json] = deepcopy(TOPOLOGIES[self.case]["topology"])
        for operator in operators:
            for part in (
                operator,
                *operator.get("branches", ()),
                *operator.get("inputs", ()),
                operator.get("default", {}),
            ):
                part.update({field: f"{self.slug}-{part[field]}" for field in _NAMES if field in part})
            for field in ("topic", "topic_prefix"):
                if field in operator:
                    operator[field] = self._topic(prefix, operator[field])
        return operators

    def _topic(self, prefix: str, topic: str) -> str:
        return f"{prefix}.{self.slug}.{topic}"


@dataclass(frozen=True)
class Application:
    """Topologies that run on Spark as one application: that takes as long as one of them alone."""

    name: str
    members: tuple[Parity, ...]
    guarantee: str

    @property
    def options(self) -> dict[str, Any]:
        """Its configuration."""
        options: dict[str, Any] = {"processing_guarantee": self.guarantee}
        for member in self.members:
            options |= member.options
        if self.members[0].split:
            options["max_batch_records"] = sum(len(member.feed.inputs) for member in self.members) // 4
        return options


def build_together(members: Iterable[Parity], config: StreamsConfig, prefix: str) -> tuple[Topology, Scope]:
    """One topology of the operators of several cases."""
    operators = [operator for member in members for operator in member.operators(prefix)]
    return build(Case("topologies.json", "parity", "", {}, operators, [], {}), config)


def applications() -> list[Application]:
    """All cases, a few of the same kind at a time."""
    kinds: dict[tuple[str, bool, bool, int], list[Parity]] = {}
    for parity in CASES:
        optimization = TOPOLOGIES[parity.case]["config"]["optimization"]
        kinds.setdefault((optimization, parity.split, parity.disk, len(parity.feed.phases)), []).append(parity)
    groups = [found[at : at + _TOGETHER] for found in kinds.values() for at in range(0, len(found), _TOGETHER)]
    return [Application(f"parity{number}", tuple(group), GUARANTEES[number % 2]) for number, group in enumerate(groups)]


_FEW = KEYS[::2]  # of each partition one or two
#: For foreign keys and groups: a first character of its own for every key, so that no two keys are updated at once.
_SHIFTED = dict(zip(KEYS, KEYS[5:] + KEYS[:5], strict=True))
_SHIFTED_AGAIN = dict(zip(KEYS, KEYS[2:] + KEYS[:2], strict=True))


def _dense(*topics: str, rounds: int = 9, pause: int = 3, nulls: str = "") -> Feed:
    """One topic, every key every few milliseconds, then time for windows to close."""
    feed = Feed(step=0)
    for _ in range(3):
        feed.rounds(rounds // 3, *topics, pause=pause, nulls=nulls).pause(6)
    return feed.ticks(6, *topics, pause=5)


def _joined(*topics: str, keys: str = KEYS[::2], ticks: int = 8) -> Feed:
    """Several streams whose records are now and then near enough to match."""
    return Feed().rounds(6, *topics, keys=keys).ticks(ticks, *topics, pause=5)


def _tables(*topics: str) -> Feed:
    return Feed().rounds(3, *topics, nulls=" ".join(topics))


_STATELESS = (
    Parity("stateless/flatmap", Feed().rounds(3, "in", letters=True)),
    Parity("stateless/child-order", Feed().rounds(3, "in", nulls="in").one("in", None, "v").one("in", None, None)),
    Parity("stateless/split-first-match", Feed(headers=True).rounds(4, "in", nulls="in"), split=True),
    Parity("stateless/merge-order", Feed().rounds(3, "in", "in2")),
    Parity("stateless/headers-through", Feed(headers=True).rounds(3, "in", own=True, nulls="in")),
    # What it writes to its own topic is read by its next run.
    Parity("stateless/through-topic", Feed(headers=True).rounds(3, "in").then(), blur=r"#.*:\d+:\d+"),
    Parity(
        "stateless/dynamic-topic", Feed().rounds(3, "in", nulls="in", values=dict(zip(KEYS, "uvw" * 4, strict=True)))
    ),
    Parity("headers/split-merge", Feed(headers=True).rounds(3, "in")),
    Parity("run-error/function-throws-continue", Feed().rounds(3, "in")),
)
_REPARTITION = (
    Parity("repartition/two-groups-one-selectkey", Feed().rounds(4, "in")),
    Parity("repartition/interleave-three-queues", Feed().rounds(4, "in")),
    Parity(
        "repartition/toTable-then-groupByKey", Feed(headers=True).rounds(2, "in", nulls="in").then().rounds(2, "in")
    ),
    Parity("repartition/multi-subtopologies-describe", Feed().rounds(3, "in", "in2", "tb", nulls="tb")),
    Parity("table/to-table-rekeyed", Feed().rounds(4, "in", nulls="in")),
)
_AGGREGATES = (
    Parity("aggregate/count", Feed(step=0).rounds(6, "in", pause=1, nulls="in"), split=True),
    Parity("aggregate/reduce-null-deletes", Feed(step=0).rounds(6, "in", pause=1), split=True, disk=True),
    Parity("aggregate/aggregate-key", Feed().rounds(3, "in").one("in", None, "a!").then().rounds(2, "in")),
    Parity("aggregate/two-aggs-unnamed-group+opt", Feed().rounds(4, "in")),
    Parity("aggregate/old-value-initializer", Feed().rounds(4, "in")),
    Parity("aggregate/flush-order", Feed(headers=True).rounds(3, "in")),
    Parity("table-group/reduce-move", Feed().rounds(4, "tb", nulls="tb")),
    Parity("table-group/two-aggs-same-group+opt", Feed().rounds(4, "tb", nulls="tb")),
    Parity("table-group/of-join", Feed().rounds(3, "tb", "tc", nulls="tb tc")),
    Parity("cogroup/plain", Feed().rounds(4, "l", "r")),
    Parity("cogroup/one-rekeyed-unnamed", Feed().rounds(4, "l", "r")),
    Parity("naming/cogroup-windows", Feed().rounds(5, "l", "r", keys=_FEW)),
)
_WINDOWS = (
    Parity("window-time/tumbling-count", _dense("in"), split=True),
    Parity("window-time/hopping-start-at-zero", Feed(1, 0).rounds(8, "in", pause=3), disk=True),
    Parity("window-time/unlimited", Feed(1, 0).rounds(6, "in", pause=3)),
    Parity("window-time/windowed-then-selectkey", Feed().rounds(8, "in", keys=_FEW)),
    Parity("window-time/windowed-group-by", Feed().rounds(8, "in", keys=_FEW)),
    Parity("window-sliding/early-records", Feed(1, 0).rounds(8, "in", pause=4), split=True),
    Parity("window-sliding/repartitioned", Feed().rounds(6, "in", keys=_FEW)),
    Parity("window-session/aggregate-merger", _dense("in", pause=4), split=True, disk=True),
    Parity("cogroup/session", Feed().rounds(6, "l", "r", keys=_FEW)),
    Parity("table/to-table-windowed-key", _dense("in")),
    Parity("headers/hopping", Feed(step=0, headers=True).rounds(8, "in", pause=3)),
)
_EMISSION = (
    Parity("emit-close/tumbling-grace", _dense("in", rounds=12), split=True),
    Parity("emit-close/dense-hopping-3", _dense("in", rounds=12)),
    Parity("emit-close/sliding", _dense("in")),
    Parity("emit-close/session-order-end", _dense("in", pause=4)),
    Parity("suppress/window-close-tumbling", _dense("in", rounds=12), split=True),
    Parity("window-session/session-then-suppress", _dense("in", pause=4)),
    Parity(
        "suppress/time-limit",
        Feed()
        .rounds(1, "in")
        .ticks(1, "in", pause=6)
        .rounds(1, "in", nulls="in")
        .ticks(1, "in", pause=6)
        .rounds(1, "in")
        .ticks(3, "in", pause=6),
    ),
    Parity("suppress/suppress-twice", _dense("in"), by_partition=True),
    Parity("suppress/max-records-two", Feed().rounds(4, "in", nulls="in"), by_partition=True, split=True),
)
_TABLES = (
    Parity("table/filter-both-stores", Feed().rounds(4, "tb", nulls="tb"), split=True),
    Parity("table/filter-then-groupby", Feed().rounds(4, "tb", nulls="tb")),
    Parity("table/mapvalues-null-result", Feed().rounds(4, "tb", nulls="tb")),
    Parity("naming/table-ops-variants", Feed().rounds(3, "t", nulls="t")),
    Parity("versioned/filter-mapvalues", Feed().rounds(4, "tb", nulls="tb")),
)
_JOINS = (
    Parity("join-stream-stream/join-asymmetric", _joined("l", "r")),
    Parity("join-stream-stream/left_join-symmetric", _joined("l", "r")),
    Parity("join-stream-stream/outer_join-symmetric", _joined("l", "r"), disk=True),
    Parity("join-stream-stream/self-join-outer-window", Feed(step=0).rounds(8, "l", pause=2).ticks(5, "l", pause=4)),
    Parity(
        "join-stream-stream/self-join-mapped", Feed(step=0).rounds(8, "l", pause=2).ticks(5, "l", pause=4), split=True
    ),
    Parity("join-stream-stream/rekeyed-both", Feed().rounds(3, "l", "r")),
    Parity("join-stream-stream/chain-three", _joined("l", "r", "q"), by_partition=True),
    Parity("join-stream-table/join-rekeyed", Feed().rounds(4, "s", "tb", nulls="tb")),
    Parity("join-stream-table/left_join", Feed(headers=True).rounds(4, "s", "tb", nulls="tb")),
    Parity("join-stream-table/left_join-aggregate-table", Feed().rounds(4, "s", nulls="s")),
    Parity("versioned/left_join-grace", Feed().rounds(4, "s", "tb", nulls="tb").ticks(4, "s", "tb", pause=5)),
    Parity("versioned/filtered-asof", Feed().rounds(3, "s", "tb", nulls="tb")),
    Parity("versioned/versioned-to-table", Feed().rounds(3, "s", "tb", nulls="tb")),
    Parity(
        "join-global/left_join-by-value",
        Feed().rounds(1, "gl", keys=_FEW).rounds(3, "s").then().rounds(1, "gl", nulls="gl").rounds(2, "s"),
    ),
    Parity("join-global/rekeyed-no-repartition", Feed().rounds(1, "gl").rounds(3, "s", own=True)),
    Parity("join-table-table/left_join-materialized", _tables("l", "r"), disk=True),
    Parity("join-table-table/outer_join-then-group", _tables("l", "r")),
    Parity("join-table-table/windowed-tables", Feed().rounds(6, "l", "r", keys=_FEW)),
)
#: The left side of a foreign-key join drops the answers to questions that it asked with an older value. In a batch all
#: questions are asked before the first answer comes, so here every key of a left side changes once in a batch at most,
#: and before the right side does.
_FOREIGN_KEYS = (
    Parity(
        "join-foreign-key/join",
        Feed()
        .rounds(1, "r", keys=_FEW)
        .rounds(1, "l")
        .rounds(2, "r", nulls="r")
        .then()
        .rounds(1, "l", nulls="l")
        .rounds(2, "r", nulls="r"),
    ),
    Parity(
        "join-foreign-key/left_join",
        Feed()
        .rounds(1, "r", keys=_FEW)
        .rounds(1, "l")
        .rounds(2, "r", nulls="r")
        .then()
        .rounds(1, "l", nulls="l")
        .rounds(2, "r", nulls="r"),
    ),
    Parity("headers/foreign-key", Feed(headers=True).rounds(1, "in2").rounds(1, "in").rounds(1, "in2", nulls="in2")),
    Parity(
        "join-foreign-key/left_join-then-group",
        Feed()
        .rounds(1, "r")
        .rounds(1, "l", values=_SHIFTED)
        .rounds(1, "r", nulls="r")
        .then()
        .rounds(1, "l", values=_SHIFTED_AGAIN, nulls="l")
        .rounds(1, "r"),
    ),
    Parity(
        "join-foreign-key/chain",
        Feed()
        .rounds(1, "q", keys="abc")
        .one("q", "0", "zero")
        .one("q", "1", "one")
        .rounds(1, "r")
        .rounds(1, "l")
        .then()
        .rounds(1, "r", nulls="r")
        .one("q", "2", "two"),
    ),
)
_PROCESSORS = (
    Parity("processor/counter-stream_time", Feed().rounds(5, "in", nulls="in"), by_partition=True),
    Parity("processor/counter-deletes", Feed().rounds(5, "in"), by_partition=True, split=True),
    Parity("processor/dedup-store", Feed().rounds(6, "in", keys=_FEW, nulls="in"), split=True),
)

CASES = _STATELESS + _REPARTITION + _AGGREGATES + _WINDOWS + _EMISSION + _TABLES + _JOINS + _FOREIGN_KEYS + _PROCESSORS
