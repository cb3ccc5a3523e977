"""Agents in other processes, and in tasks that go on where others stopped."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import cloudpickle

import millstream.agents as faust
from millstream import StreamsConfig
from millstream.cli.loading import load_application
from millstream.spark.calls.unshippable import forget_msgspec_caches
from millstream.state.store import StateStore
from millstream.task.task import Task

SCRIPT = """
import pickle, sys
from millstream.testing import TopologyTestDriver

with TopologyTestDriver(pickle.load(sys.stdin.buffer)) as driver:
    for number in (1, 2):
        driver.pipe("shipped-entrance", b"a", b'{"user":"a","amount":%d}' % number, 0)
    print([sent.value for sent in driver.take_outputs() if sent.topic == "shipped-out"])
"""


def test_an_application_of_a_script_is_sent_to_other_processes_by_value() -> None:
    app = faust.App("shipped")

    class Order(faust.Record):
        user: str
        amount: int = 0

    out = app.topic("shipped-out", value_type=Order)
    totals = app.Table("totals", default=int)

    @app.agent(value_type=Order)
    async def add(stream: faust.Stream) -> None:
        async for order in stream:
            totals[order.user] += order.amount
            assert app.id == "shipped"
            await out.send(key=b"k", value=order.derive(amount=totals[order.user]))

    @app.agent(value_type=Order)
    async def entrance(stream: faust.Stream) -> None:
        async for order in stream.filter(lambda order: order.amount > 0):
            await add.send(value=order)

    topology = app.topology()
    forget_msgspec_caches()  # as the runtime does
    data = cloudpickle.dumps(topology)
    found = subprocess.run([sys.executable, "-c", SCRIPT], input=data, capture_output=True, check=True)  # noqa: S603
    assert found.stdout.decode().strip() == """[b'{"user":"a","amount":1}', b'{"user":"a","amount":3}']"""


def test_an_open_list_goes_on_in_another_task() -> None:
    app = faust.App("lists")
    numbers, sums = app.topic("numbers", value_type=int), app.topic("sums", value_type=int)

    @app.agent(numbers, sink=[sums])
    async def add(stream: faust.Stream) -> AsyncIterator[int]:
        async for values in stream.take(3, within=10):
            yield sum(values)

    config = StreamsConfig(application_id="lists")
    first = Task(app.topology(), config)
    assert outputs(first, [1, 2, 3, 4, 5], 0) == [b"6"]
    changes, saved = first.take_changes(), first.save()
    first.close(flush=False)

    def restore(stores: Any) -> bytes:
        store: StateStore
        for name, store in stores.items():
            store.apply_changes(changes.get(name, {}).items())
        return saved

    second = Task(app.topology(), config, restore=restore)
    assert outputs(second, [6], 5) == [b"15"]
    second.close(flush=False)


def outputs(task: Task, values: list[int], offset: int) -> list[bytes | None]:
    """What a task writes for some values."""
    records = [(None, str(value).encode(), 0, None, offset + number) for number, value in enumerate(values)]
    task.add_records("numbers", 0, records)
    task.process_all()
    task.commit(until_clean=True)
    return [output[3] for output in task.take_outputs()]


def test_the_command_finds_the_application_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "agents_of_a_file.py"
    file.write_text(
        "import millstream.agents as faust\n"
        "app = faust.App('filed', broker='kafka://somewhere:1')\n"
        "@app.agent(value_type=int)\n"
        "async def add(stream):\n"
        "    async for number in stream:\n"
        "        pass\n"
    )
    found = load_application(str(file))
    assert found.app is not None
    assert found.config is not None
    assert found.config.bootstrap_servers == "somewhere:1"
    assert "add" in found.topology.nodes
