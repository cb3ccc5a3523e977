"""A topology over the records that its topics hold now."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.hosting.transient.access import TopicAccess
from millstream.hosting.transient.hosted import HostedTopology
from millstream.hosting.transient.loop import ReadingLoop
from millstream.hosting.transient.tasks import source_topics
from millstream.topology.topology import Topology

#: How long a broker may keep a request that finds nothing, in milliseconds.
_WAITING = 200


def run_to_end(topology: Topology, config: StreamsConfig, access: TopicAccess, is_enough: Callable[[], bool]) -> None:
    """Run a topology, and wait until all of it was read, or it is enough.

    Args:
        topology: what to run; its results leave it by its processors.
        config: the application's configuration.
        access: how topics are read.
        is_enough: asked after results may have come.

    Raises:
        MillstreamError: it failed.
    """
    places = access.places(source_topics(topology), from_beginning=True)
    over = threading.Event()
    failures: list[MillstreamError] = []

    def ended(error: MillstreamError | None) -> None:
        if error is not None:
            failures.append(error)
        over.set()

    work = HostedTopology(topology, config, places, to_end=True, delivered=lambda: not is_enough(), ended=ended)
    if is_enough() or places.starts == places.ends:
        work.ended(None)
    else:
        ReadingLoop("to the end", partial(access.open, places, waiting=_WAITING), work).start()
    over.wait()
    if failures:
        raise failures[0]
