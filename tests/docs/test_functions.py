"""Every function of SQL has an example, and every example gives what its page says."""

from __future__ import annotations

import pytest

from function_examples import examples, run
from function_pages import pages
from millstream.sql.functions.registry import default_registry

FUNCTIONS = {function.name: function for function in default_registry().describe()}
EXAMPLES = examples()


def test_every_function_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    example = EXAMPLES[name]
    assert name in example.call
    assert run(FUNCTIONS[name], example) == example.gives


def test_every_function_is_on_one_page_and_in_the_index() -> None:
    made = pages()
    index = made.pop("index.md")
    for name in FUNCTIONS:
        files = [file for file, text in made.items() if f"## {name}\n" in text]
        assert len(files) == 1
        assert f"[{name}]({files[0]}#{name.lower()})" in index


def test_a_page_shows_signatures_and_the_example() -> None:
    text = pages()["array.md"]
    assert "ARRAY_JOIN(array ARRAY<T>, delimiter VARCHAR) -> VARCHAR" in text
    assert "Example: `ARRAY_JOIN(ARRAY['a', 'b', 'c'], '-')` gives `\"a-b-c\"`" in text
