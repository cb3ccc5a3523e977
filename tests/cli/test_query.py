"""`millstream query`, against a server that says what was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]

STANDING = {
    "position": {"changes": {"0": 7}},
    "lag": {"0": {"records": 2, "position": 7, "end": 9, "stale_ms": 5}},
    "answered_by": {"0": {"instance": "one", "standby": False}},
}
ROWS = [
    {"key": "alice", "value": 3, "timestamp": 60_000, "window": {"start": 0, "end": 60_000}},
    {"key": "bob", "value": {"a": [1]}, "timestamp": 0, "window": {"start": 60_000, "end": 9223372036854775807}},
]


class Handler(BaseHTTPRequestHandler):
    """Notes what is asked."""

    asked: list[tuple[str, str | None]]
    problem: dict[str, Any] | None

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("authorization")))
        status, body = 200, b""
        if self.problem is not None:
            status, body = self.problem["status"], json.dumps(self.problem).encode()
        elif self.path == "/stores":
            stores = [{"name": "counts", "kind": "key-value", "partitions": 2, "global": False, "topic": "changes"}]
            body = json.dumps({"stores": stores}).encode()
        elif self.headers.get("accept") == "application/x-ndjson":
            lines = [*({"row": row} for row in ROWS), {"end": {"more": False, **STANDING}}]
            body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        else:
            body = json.dumps({"store": "versions", **ROWS[0], **STANDING}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Handler]]:
    """A server that `millstream query` asks."""
    handler = type("Noting", (Handler,), {"asked": [], "problem": None})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("MILLSTREAM_SERVER", f"http://127.0.0.1:{serving.server_port}")
        yield handler
        serving.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["--key", "a/b c"], "/stores/counts/keys?key=a%2Fb+c"),
        (["--key", "a", "--key", "b"], "/stores/counts/keys?key=a&key=b"),
        (["--from", "a", "--to", "b", "--limit", "3"], "/stores/counts/keys?from=a&to=b&limit=3"),
        (["--prefix", "a"], "/stores/counts/keys?prefix=a"),
        (["--all", "--reverse", "--standby"], "/stores/counts/keys?reverse=true&standby=true"),
        (["--key", "a/b", "--window", "5/2026-01-01"], "/stores/counts/windows/a%2Fb?from=5&to=2026-01-01"),
        (["--window", "5/"], "/stores/counts/windows?from=5"),
        (["--window", "/", "--from", "a"], "/stores/counts/windows?from_key=a"),
        (["--key", "a", "--session"], "/stores/counts/sessions/a"),
        (["--key", "a", "--session", "--window", "1/2"], "/stores/counts/sessions/a?from=1&to=2"),
        (["--session"], "/stores/counts/sessions"),
        (["--key", "a", "--as-of", "5"], "/stores/counts/keys/a?as_of=5"),
        (["--key", "a", "--history"], "/stores/counts/versions/a"),
        (["--key", "a", "--max-staleness", "2s"], "/stores/counts/keys?key=a&max_staleness=2s"),
    ],
)
def test_what_is_asked(run: Run, server: type[Handler], arguments: list[str], path: str) -> None:
    code, output, errors = run("query", "counts", *arguments)
    assert code == 0, errors
    assert server.asked == [(path, None)]
    assert "alice" in output


def test_a_table_and_how_far_it_is(run: Run, server: type[Handler]) -> None:
    _, output, errors = run("query", "counts", "--all")
    header, alice, bob = output.splitlines()
    assert header.split() == ["key", "window", "value", "timestamp"]
    assert alice.split()[:5] == ["alice", "1970-01-01T00:00:00.000Z", "to", "1970-01-01T00:01:00.000Z", "3"]
    assert '{"a":[1]}' in bob
    assert errors.strip() == "2 rows; 2 records behind, answered by one"


def test_lines_of_json(run: Run, server: type[Handler]) -> None:
    _, output, _ = run("query", "counts", "--all", "--json")
    assert [json.loads(line) for line in output.splitlines()] == ROWS


def test_the_stores_there_are(run: Run, server: type[Handler]) -> None:
    _, output, _ = run("query")
    assert output.splitlines()[1].split() == ["counts", "key-value", "2", "changes"]


def test_the_token_comes_from_a_file(run: Run, server: type[Handler], tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("# of the shop\n\nthe-secret-token-of-all\n")
    run("query", "counts", "--all", "--token-file", str(file))
    assert server.asked[0][1] == "Bearer the-secret-token-of-all"
    code, _, errors = run("query", "counts", "--all", "--token-file", str(tmp_path / "none"))
    assert (code, "cannot be read" in errors) == (1, True)


def test_errors_of_the_server_are_told(run: Run, server: type[Handler]) -> None:
    server.problem = {"status": 404, "primary": "there is no store called x", "detail": "there is y", "hint": "ask y"}
    code, output, errors = run("query", "x", "--all")
    assert (code, output) == (1, "")
    assert "there is no store called x" in errors
    assert "ask y" in errors


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "what is to be asked?"),
        (["--key", "a", "--all"], "exclude each other"),
        (["--window", "5"], "START/END"),
        (["--history"], "what is to be asked?"),
        (["--key", "a", "--key", "b", "--session"], "needs one --key"),
        (["--session", "--window", "1/2"], "needs a key"),
        (["--all", "--server", "ftp://x"], "no address"),
        (["--all", "--server", "http://127.0.0.1:9"], "no server answers"),
    ],
)
def test_what_makes_no_sense_is_told(run: Run, server: type[Handler], arguments: list[str], says: str) -> None:
    code, _, errors = run("query", "counts", *arguments)
    assert code == 1
    assert says in errors
    assert not server.asked
