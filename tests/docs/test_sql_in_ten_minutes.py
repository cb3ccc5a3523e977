"""The commands of docs/sql-in-ten-minutes.md print what the page says, on a server of their own."""

from __future__ import annotations

import re
import subprocess
import time
import uuid
from pathlib import Path

from millstream.config import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.ksqldb.server import KsqlServer
from pages import FENCE

PAGE = Path(__file__).parents[2] / "docs" / "sql-in-ten-minutes.md"
WAIT_SECONDS = 90.0


def steps() -> tuple[str, list[tuple[str, str | None]]]:
    """The functions of the page, and its commands with what they print."""
    page = PAGE.read_text(encoding="utf-8")
    fences = [(fence["language"], fence["body"]) for fence in FENCE.finditer(page)]
    following = [*fences[1:], ("", "")]
    found = [
        (body, next_body if next_language == "text" else None)
        for (language, body), (next_language, next_body) in zip(fences, following, strict=True)
        if language == "sh"
    ]
    (start, _), (functions, _), *commands = found
    assert start.endswith("millstream server\n")
    return functions, commands


def test_the_commands_of_the_page(broker: DetachedBroker) -> None:
    mark = uuid.uuid4().hex[:8]
    functions, commands = steps()
    config = StreamsConfig(bootstrap_servers=broker.bootstrap_servers, num_stream_threads=1)
    with KsqlServer(config, {"ksql.service.id": f"minutes_{mark}_", "ksql.output.topic.name.prefix": mark}) as server:

        def run(command: str) -> str:
            text = re.sub(r"kafka_topic='(\w+)'", rf"kafka_topic='\1-{mark}'", f"{functions}\n{command}")
            done = subprocess.run(  # noqa: S603 - the commands of the documentation
                ["/bin/sh", "-c", text.replace("http://localhost:8088", server.url)],
                capture_output=True,
                text=True,
                timeout=WAIT_SECONDS,
                check=True,
            )
            assert '"error_code"' not in done.stdout, done.stdout
            return done.stdout

        for command, expected in commands:
            printed = run(command)
            end = time.monotonic() + WAIT_SECONDS
            while expected is not None and printed != expected:  # tables come to have it
                assert time.monotonic() < end, f"{command} prints {printed}"
                time.sleep(0.5)
                printed = run(command)
