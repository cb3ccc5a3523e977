"""Services that come later, and services that were away."""

from __future__ import annotations

import random
from dataclasses import replace

from examples.patterns.event_collaboration import app

from millstream import Consumed, Grouped, Produced, Serdes, StreamsBuilder
from millstream.testing import TopologyTestDriver

from .harness.simulation import Simulation, simulate
from .harness.world import Pattern
from .invariants.event_collaboration import PATTERN


def add_points(builder: StreamsBuilder) -> None:
    """A fifth service, which nobody thought of: points for what a customer got."""
    (
        builder.stream(app.SHIPMENTS, Consumed(Serdes.string, Serdes.json(app.Order)))
        .group_by(lambda key, order: order.customer, Grouped(Serdes.string, Serdes.json(app.Order), "points"))
        .count()
        .to_stream()
        .to("shop-points", Produced(Serdes.string, Serdes.json(int)))
    )


def test_a_new_listener_changes_nothing_for_the_others() -> None:
    sent = PATTERN.inputs(random.Random(3), 80)
    alone = simulate(PATTERN, sent, _Steady())
    larger: Pattern = replace(PATTERN, parts=(*PATTERN.parts, add_points), topics=(*PATTERN.topics, "shop-points"))
    together = simulate(larger, sent, _Steady())
    points = together.latest("shop-points")
    assert {topic: together.topics[topic] for topic in PATTERN.topics} == alone.topics
    assert sum(points.values()) == len(alone.topics[app.SHIPMENTS]) > 0


def test_a_service_that_was_away_catches_up() -> None:
    sent = PATTERN.inputs(random.Random(4), 80)
    for away in range(len(PATTERN.parts)):
        simulation = Simulation(PATTERN, random.Random(away))
        simulation.send(sent)
        simulation.run(without=away)
        simulation.run()
        PATTERN.check(sent, simulation.seen())
        simulation.close()


def test_a_payment_that_is_told_twice_reserves_once() -> None:
    payment = app.Payment("taken", app.Order("ann", "tea", 2, 100), 0)
    with TopologyTestDriver(app.stock().build()) as driver:
        driver.input_topic(app.DELIVERIES, Serdes.string, Serdes.json(int)).pipe("tea", 5)
        driver.input_topic(app.PAYMENTS, Serdes.string, Serdes.json(app.Payment)).pipe_key_values([("o", payment)] * 2)
        told = driver.output_topic(app.RESERVATIONS, Serdes.string, Serdes.json(app.Reservation)).read_values()
    assert [(reservation.kind, reservation.left) for reservation in told] == [("reserved", 3)]


class _Steady(random.Random):
    """Chance that always has the first service go first, and no time pass: two runs can be compared."""

    def choice(self, seq):  # type: ignore[no-untyped-def]
        return seq[0]

    def random(self) -> float:
        return 0.99
