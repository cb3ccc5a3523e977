"""The commands of docs/running.md do what the page says, in the order in which it has them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

from millstream.kafka.detached import DetachedBroker

PAGE = Path(__file__).parents[2] / "docs" / "running.md"

_BLOCK = re.compile(r"^```(?:python|sh)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> tuple[str, str]:
    """The script of the page and its commands."""
    found = [block["body"] for block in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    (script,) = (body for body in found if body.startswith("# app.py\n"))
    (commands,) = (body for body in found if body.startswith("millstream "))
    return script, commands


def test_the_commands_of_running(broker: DetachedBroker, broker_state_home: Path, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex[:8]

    def named(text: str) -> str:
        """With names of its own: the broker is everybody's."""
        for name in ("large-orders", "orders", "shop"):
            text = re.sub(rf"(?<![\w-]){name}(?![\w-])(?!\.)", f"{name}-{mark}", text)
        return text

    script, commands = map(named, blocks())
    (tmp_path / "app.py").write_text(script.replace(f"orders-{mark} = ", "orders = "))
    assert "run app.py --exactly-once " in commands
    commands = commands.replace("run app.py --exactly-once ", "run app.py --exactly-once --once ")
    shim = tmp_path / "bin" / "millstream"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m millstream.cli "$@"\n')
    shim.chmod(0o755)
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(broker_state_home),
        "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    environment.pop("MILLSTREAM_BOOTSTRAP_SERVERS", None)
    done = subprocess.run(  # noqa: S603 - the commands of the documentation
        ["/bin/sh", "-e", "-c", commands],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert lines[0] == f"the broker was already running at {broker.bootstrap_servers}"
    results = [line for line in lines if line.startswith("partition=")]
    assert sorted(line.rsplit(" ", 1)[1] for line in results) == ["ann:120", "cid:700"]
    assert f"group shop-{mark} is " in done.stdout
    assert [f"large-orders-{mark}", "4", "2"] in [line.split() for line in lines]
    assert f"reset shop-{mark}:" in lines
    assert f"  delete topic shop-{mark}-slots" in lines  # where it stands
    assert "stopped after 3 records" in done.stderr
