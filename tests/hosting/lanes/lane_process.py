"""A lane as a process of its own, for tests that kill it: `lane_process.py {json}`."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace

from millstream import Consumed, Grouped, Produced, Serdes, StreamsBuilder, StreamsConfig, Topology
from millstream.hosting.lanes.lane import Lane
from millstream.hosting.lanes.messages import Close, Figures, Run
from millstream.hosting.lanes.preparing import prepare
from millstream.hosting.lanes.settings import LaneSettings
from millstream.kafka.admin import Admin


def topology(source: str, out: str) -> Topology:
    """Counts per key, and per value behind a repartition topic."""
    builder = StreamsBuilder()
    stream = builder.stream(source, Consumed(Serdes.string, Serdes.string))
    counts = Produced(Serdes.string, Serdes.long)
    stream.group_by_key(Grouped(Serdes.string, Serdes.string)).count().to_stream().to(f"{out}-keys", counts)
    by_value = stream.group_by(lambda key, value: value, Grouped(Serdes.string, Serdes.string))
    by_value.count().to_stream().to(f"{out}-values", counts)
    return builder.build()


def _tell(event: object) -> None:
    if isinstance(event, Figures):
        told = {"tasks": event.tasks, "standbys": event.standbys, "restored": event.counted.get("restored", 0)}
        print(json.dumps(told), flush=True)


def main() -> None:
    """Run until killed."""
    given = json.loads(sys.argv[1])
    config = StreamsConfig(
        application_id=given["service"],
        bootstrap_servers=given["servers"],
        processing_guarantee="exactly_once_v2",
        statestore_cache_max_bytes=0,
        dsl_store=given["stores"],
        num_standby_replicas=int(given.get("standbys", 0)),
        state_dir=given.get("state_dir"),
    )
    settings = LaneSettings(config, given["service"], given["name"], is_replacement="replaces" in given)
    lane = Lane(settings, _tell)
    query = replace(config, application_id=f"{given['service']}-q")
    lane.order(Run(prepare("q", topology(given["source"], given["out"]), query, Admin(config))))
    signal.signal(signal.SIGTERM, lambda *_: lane.order(Close()))
    lane.run()


if __name__ == "__main__":
    main()
