"""A view can be dropped and made again from the log, alone, beside the others."""

from __future__ import annotations

import random
from dataclasses import replace

from examples.patterns.database_inside_out import app

from millstream import StreamsBuilder

from .harness.simulation import Simulation, simulate
from .harness.world import Pattern, Sent
from .invariants.database_inside_out import PATTERN


def add_index_alone(builder: StreamsBuilder) -> None:
    app.add_by_word(builder, app.add_by_id(builder))


def test_a_view_that_is_made_again_is_the_same() -> None:
    sent = PATTERN.inputs(random.Random(2), 200)
    there = simulate(PATTERN, sent, random.Random(2))
    again: Pattern = replace(PATTERN, parts=(add_index_alone,), stores=(app.BY_WORD,))
    assert simulate(again, sent, random.Random(3)).stores[app.BY_WORD] == there.stores[app.BY_WORD]


def test_a_compacted_log_leads_to_the_same_views() -> None:
    sent = PATTERN.inputs(random.Random(4), 200)
    last = {record.key: at for at, record in enumerate(sent)}
    compacted: list[Sent] = [record for at, record in enumerate(sent) if last[record.key] == at]
    simulation = Simulation(PATTERN, random.Random(5))
    simulation.send(compacted)
    simulation.run()
    PATTERN.check(sent, simulation.seen())
    simulation.close()
