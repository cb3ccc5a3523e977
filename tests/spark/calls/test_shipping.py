"""What a program brings along, and what it must find."""

from __future__ import annotations

import sys
from pathlib import Path

import cloudpickle
import pytest

from millstream import StreamsError
from millstream.spark.calls.label import label_of, labelled, new_label
from millstream.spark.calls.shipping import unpacked


def test_a_module_that_is_not_on_this_machine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules_elsewhere.py").write_text("def rule(value):\n    return value\n")
    monkeypatch.syspath_prepend(tmp_path)
    import rules_elsewhere  # type: ignore[import-not-found]

    label = new_label(60.0)
    data = labelled(label, cloudpickle.dumps(rules_elsewhere.rule))
    assert unpacked(data) is rules_elsewhere.rule
    assert str(tmp_path) in label_of(data).module_path, "the driver's reader looks there, too"
    monkeypatch.delitem(sys.modules, "rules_elsewhere")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    with pytest.raises(StreamsError, match="module rules_elsewhere is missing on ") as missing:
        unpacked(data)
    assert "--py-files" in (missing.value.hint or "")
