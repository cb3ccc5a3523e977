"""A topology is found in a file or a module, and described."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

_BUILDER = """
from millstream import Consumed, Serdes, StreamsBuilder
builder = StreamsBuilder()
builder.stream("orders", Consumed(Serdes.string, Serdes.string)).to("copies")
"""


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    sys.path[:] = path


@pytest.fixture
def app(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        file = tmp_path / "app_under_test.py"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return write


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("", ""),
        ("", ":builder"),
        ("topology = builder.build()", ""),
        ("other = builder.build()\ndel builder", ""),
        ("def build():\n    return builder", ""),
        ("def make():\n    return builder.build()", ":make"),
    ],
)
def test_found(run: Run, app: Callable[[str], str], more: str, name: str) -> None:
    code, output, errors = run("describe", app(_BUILDER + more) + name)
    assert (code, errors) == (0, "")
    assert output.startswith("Topologies:\n   Sub-topology: 0\n")
    assert "topics: [orders]" in output


def test_a_module(run: Run, app: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(app(_BUILDER)).parent)
    assert run("describe", "app_under_test")[0] == 0
    assert run("describe", "app_under_test:builder")[0] == 0


def test_the_configuration_counts(run: Run, app: Callable[[str], str]) -> None:
    text = """
from millstream import Consumed, Serdes, StreamsBuilder, StreamsConfig
config = StreamsConfig(ensure_explicit_internal_resource_naming=True)
builder = StreamsBuilder()
strings = Consumed(Serdes.string, Serdes.string)
builder.stream("a", strings).group_by_key().count().to_stream().to("b")
"""
    code, _, errors = run("describe", app(text))
    assert code == 1
    assert "error: " in errors


def test_pictures(run: Run, app: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    file = app(_BUILDER)
    code, output, _ = run("describe", file, "--mermaid")
    assert code == 0
    assert "orders" in output
    assert "Topologies" not in output
    svg, html = tmp_path / "t.svg", tmp_path / "t.html"
    code, output, errors = run("describe", file, "--svg", str(svg), "--html", str(html))
    assert (code, output) == (0, "")
    assert errors == f"{html} written\n{svg} written\n"
    assert "<svg" in svg.read_text()
    assert "<html" in html.read_text()
    assert run("describe", file, "--html", str(html), "--open")[0] == 0
    assert opened == [html.as_uri()]
    assert run("describe", file, "--open")[0] == 0
    assert opened[1].endswith("/app_under_test.html")
    code, _, errors = run("describe", file, "--svg", str(tmp_path / "nowhere" / "t.svg"))
    assert code == 1
    assert "cannot be written" in errors


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("x = 1", "", "has no topology"),
        ("x = 1", ":x", "app_under_test.py:x is no topology\n  detail: it is of type int"),
        ("x = 1", ":y", "has no y"),
        ("def build():\n    return 5", "", "build is no topology"),
        (
            _BUILDER + "a = builder.build()\nb = builder.build()\ndel builder",
            "",
            "has several topologies: a, b\n  hint:   say which one: ",
        ),
        ("import no_such_module", "", "app_under_test.py cannot be loaded\n  detail: ModuleNotFoundError: "),
        ("a = 1\nb = a / 0", "", "app_under_test.py:2"),
        ("def f(:", "", "SyntaxError"),
        ("def build():\n    raise KeyError('k')", "", "build cannot be loaded\n  detail: KeyError: 'k' at "),
        (
            "from millstream import TopologyError\nraise TopologyError('bad', hint='mend it')",
            "",
            "error: bad\n  hint:   mend it\n",
        ),
    ],
)
def test_not_found(run: Run, app: Callable[[str], str], text: str, name: str, expected: str) -> None:
    code, output, errors = run("describe", app(text) + name)
    assert (code, output) == (1, "")
    assert expected in errors
    assert "Traceback" not in errors


def test_no_such_file(run: Run, tmp_path: Path) -> None:
    assert run("describe", str(tmp_path / "nothing.py"))[2].startswith("error: there is no file ")
    assert run("describe", "no_such_module")[2].startswith("error: there is no module no_such_module\n")
    assert run("describe", "no.such.module")[2].startswith("error: there is no module no.such.module\n")
    file = tmp_path / "json.py"
    file.write_text("")
    assert "json" in sys.modules
    assert "there is another module json" in run("describe", str(file))[2]


def test_help(run: Run) -> None:
    code, output, errors = run()
    assert code in (0, 2)
    assert "describe" in output + errors
