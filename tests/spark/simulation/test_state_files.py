"""What the state of a task costs on an object store, in requests and in bytes, batch by batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pyarrow import fs

from millstream.spark.state.statefiles import StateFiles, Version

_KEYS, _CHANGED = 4_000, 40


class CountedHandler(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    """A directory that counts what it is asked for, as an object store would charge for it."""

    def __init__(self, directory: Path) -> None:
        self.requests: Counter[str] = Counter()
        self.written = 0
        self._files = fs.SubTreeFileSystem(str(directory), fs.LocalFileSystem())

    def get_type_name(self) -> str:
        return "counted"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        self.requests["get_file_info"] += 1
        return self._files.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        self.requests["get_file_info_selector"] += 1
        return self._files.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self.requests["create_dir"] += 1
        self._files.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._files.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self._files.delete_dir_contents(path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        raise AssertionError("never")

    def delete_file(self, path: str) -> None:
        self.requests["delete_file"] += 1
        self._files.delete_file(path)

    def move(self, source: str, target: str) -> None:
        self.requests["move"] += 1
        self.written += self._files.get_file_info(source).size
        self._files.move(source, target)

    def copy_file(self, source: str, target: str) -> None:
        self._files.copy_file(source, target)

    def open_input_stream(self, path: str) -> Any:
        self.requests["open_input_stream"] += 1
        return self._files.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        self.requests["open_input_file"] += 1
        return self._files.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self.requests["open_output_stream"] += 1
        return self._files.open_output_stream(path)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise AssertionError("never")


def test_a_batch_costs_a_task_some_requests_and_what_it_changed(tmp_path: Path) -> None:
    handler = CountedHandler(tmp_path)
    files = StateFiles(fs.PyFileSystem(handler), "0_0")
    value = b"v" * 100
    state = {b"key-%d" % number: value for number in range(_KEYS)}
    files.write_changes(Version(1, 0), {"store": state}, b"")
    files.write_base({"store": state.items()}, b"")
    base, handler.written = handler.written // 2, 0
    handler.requests.clear()
    batches = range(2, 242)
    for batch in batches:
        files.write_changes(Version(batch, 0), {"store": dict(list(state.items())[:_CHANGED])}, b"")
        if files.needs_base:
            files.write_base({"store": state.items()}, b"")
        files.merge_before(batch - 1)
        files.forget_before(batch - 1)
    changes = len(batches) * base * _CHANGED // _KEYS
    requests = handler.requests
    assert requests["open_output_stream"] == requests["move"] <= len(batches) * 1.2
    assert sum(requests.values()) < len(batches) * 6
    assert requests["get_file_info_selector"] < len(batches) * 0.1, "not looked for what is old in every batch"
    assert len(list((tmp_path / "0_0").iterdir())) < 40, "old files go"
    assert handler.written < changes * 2, "however much state there is"
