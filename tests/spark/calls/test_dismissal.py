"""Ending lanes: everybody who is there is waited for."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from millstream.spark.calls import dismissal
from millstream.spark.calls.shipping import PROGRAM


def test_a_lane_that_goes_at_once_does_not_hide_the_others(
    short_tempdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = short_tempdir / "run"
    directory.mkdir()
    program = directory / PROGRAM
    program.touch()
    unlink = Path.unlink

    def unlink_and_go(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path == program:
            shutil.rmtree(directory)

    waited_for: list[int] = []
    monkeypatch.setattr(Path, "unlink", unlink_and_go)
    monkeypatch.setattr(dismissal, "alive", waited_for.append)
    with ExitStack() as sockets:
        for lane in range(2):
            listener = sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(directory / f"lane-{lane}"))
            listener.listen()
        dismissal.dismiss(directory, 3)
    assert waited_for[:2] == [os.getpid()] * 2
    assert not directory.exists()
