"""The command `python -m millstream.testing.conformance`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from millstream.testing.conformance.__main__ import main

CASE: dict[str, Any] = {
    "id": "upper",
    "family": "stateless",
    "config": {"cache_bytes": 0, "optimization": "none", "store_type": "rocksdb", "wall_clock_start_ms": 0},
    "topics": {"in": {"partitions": 1}, "o": {"partitions": 1}},
    "topology": [
        {"op": "stream", "out": "s", "topic": "in"},
        {"op": "map_values", "out": "m", "in": "s", "fn": "upper"},
        {"op": "to", "in": "m", "topic": "o"},
    ],
    "steps": [{"pipe": {"topic": "in", "key": "k", "value": "a", "ts": 3, "headers": [["h", "1"]]}}],
    "expected": {
        "describe": (
            "Topologies:\n   Sub-topology: 0\n"
            "    Source: KSTREAM-SOURCE-0000000000 (topics: [in])\n      --> KSTREAM-MAPVALUES-0000000001\n"
            "    Processor: KSTREAM-MAPVALUES-0000000001 (stores: [])\n      --> KSTREAM-SINK-0000000002\n"
            "      <-- KSTREAM-SOURCE-0000000000\n"
            "    Sink: KSTREAM-SINK-0000000002 (topic: o)\n      <-- KSTREAM-MAPVALUES-0000000001\n\n"
        ),
        "outputs": [[{"topic": "o", "key": "k", "value": "A", "ts": 3, "headers": [["h", "1"]]}]],
        "error": None,
        "stores": {},
        "store_names": [],
        "dropped_records_total": 0,
        "internal_topics": [],
    },
}


def different(case_id: str, **changes: Any) -> dict[str, Any]:
    return {**CASE, "id": case_id, **changes}


WRONG = different("wrong", expected={**CASE["expected"], "outputs": [[]]})
CRASH = different("crash", topology=[{"op": "no-such-op"}])


def write(path: Path, *cases: dict[str, Any]) -> str:
    path.write_text(json.dumps(cases), encoding="utf-8")
    return str(path)


def test_all_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([write(tmp_path / "a.json", CASE)]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"


def test_failing_cases_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.json", CASE, WRONG, CRASH)
    assert main([file]) == 1
    wrong, crash, last = capsys.readouterr().out.splitlines()
    assert wrong == ('wrong: outputs: step 0 [in "k"="a"@3], record 0: expected nothing, got o "k"="A"@3 [["h", "1"]]')
    assert crash.startswith("crash: error: expected none, got in build: LookupError")
    assert last == "1 passed, 2 failed"


def test_several_files_and_a_report(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.json", CASE), write(tmp_path / "b.json", WRONG)
    report = tmp_path / "report.json"
    assert main([first, second, "--json", str(report)]) == 1
    told = json.loads(report.read_text(encoding="utf-8"))
    assert (told["passed"], told["failed"]) == (1, 1)
    assert told["cases"][0] == {
        "file": first, "id": "upper", "family": "stateless", "status": "passed", "reasons": []
    }  # fmt: skip
    assert (told["cases"][1]["file"], told["cases"][1]["status"]) == (second, "failed")
    assert len(told["cases"][1]["reasons"]) == 1


def test_only_some_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.json", CASE, WRONG, CRASH)
    assert main([file, "--id", "upper"]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
    assert main([file, "--id", "upper", "--id", "wrong"]) == 1


def test_verbose_shows_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([write(tmp_path / "a.json", WRONG, CRASH), "--verbose"]) == 1
    shown = capsys.readouterr().out
    assert "expected:\n" in shown
    assert 'step 0: [{"topic": "o", "key": "k", "value": "A"' in shown
    assert "Traceback" in shown
    assert shown.endswith("0 passed, 2 failed\n")


@pytest.mark.parametrize("content", ["{", '{"id": 1}', '[{"id": "x"}]', "3"])
def test_a_file_without_cases_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as exit_info:
        main([str(tmp_path / "a.json")])
    assert exit_info.value.code == 2
    assert "is not a file of conformance cases" in capsys.readouterr().err


def test_unknown_files_and_ids_are_refused(tmp_path: Path) -> None:
    for arguments in ([str(tmp_path / "none.json")], [write(tmp_path / "a.json", CASE), "--id", "lower"]):
        with pytest.raises(SystemExit) as exit_info:
            main(arguments)
        assert exit_info.value.code == 2


def test_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "millstream.testing.conformance", write(tmp_path / "a.json", CASE, WRONG)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
