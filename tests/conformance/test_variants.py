"""Results are the same with a wrapper around all processors that changes nothing, and with stores that keep headers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream import FixedKeyProcessor, Processor, ProcessorSupplier, ProcessorWrapper
from millstream.testing.conformance import run
from millstream.testing.conformance.case import Case, load_cases
from millstream.testing.conformance.check import check

SELECTION = Path(__file__).parent / "cases"
#: Some of each file: which operators there are matters, not how many records they get.
CASES = [case for file in sorted(SELECTION.glob("*.json")) for case in load_cases(file)[::4]]


class Around(Processor[Any, Any, Any, Any]):
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def init(self, context: Any) -> None:
        self.inner.context = context
        self.inner.init(context)

    def process(self, record: Any) -> None:
        self.inner.process(record)

    def close(self) -> None:
        self.inner.close()


class AroundValues(FixedKeyProcessor[Any, Any, Any]):
    init, process, close = Around.init, Around.process, Around.close

    def __init__(self, inner: Any) -> None:
        self.inner = inner


class Wrapper(ProcessorWrapper):
    def wrap_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
        return ProcessorSupplier(lambda: Around(supplier()), supplier.stores)

    def wrap_fixed_key_processor_supplier(self, name: str, supplier: ProcessorSupplier) -> ProcessorSupplier:
        return ProcessorSupplier(lambda: AroundValues(supplier()), supplier.stores)


VARIANTS: list[dict[str, Any]] = [{"processor_wrapper": Wrapper()}, {"dsl_store_format": "headers"}]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
@pytest.mark.parametrize("options", VARIANTS, ids=["-".join(variant) for variant in VARIANTS])
def test_case(case: Case, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run._config
    monkeypatch.setattr(run, "_config", lambda case: replace(plain(case), **options))
    verdict = check(case)
    if not verdict.passed:
        pytest.fail("\n".join(verdict.reasons), pytrace=False)
