"""The API reference has every public name once, and finds where each is defined."""

from __future__ import annotations

import millstream
import millstream.agents
import millstream.testing
from reference_pages import GROUPS, pages


def test_every_public_name_is_on_one_page() -> None:
    shown = [name for names in GROUPS.values() for name in names]
    rooms = {"agents": millstream.agents.__all__, "testing": millstream.testing.__all__}
    public = [*millstream.__all__, *(f"{room}.{name}" for room, names in rooms.items() for name in names)]
    assert sorted(shown) == sorted(public)


def test_pages_name_where_things_are_defined() -> None:
    made = pages()
    assert f"::: {millstream.KStream.__module__}.KStream\n" in made["streams-and-tables.md"]
    assert f"::: {millstream.testing.TopologyTestDriver.__module__}.TopologyTestDriver\n" in made["testing.md"]
    assert set(made) == {"index.md", *(file for _, file in GROUPS)}
