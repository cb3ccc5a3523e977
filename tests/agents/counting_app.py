"""An application of agents as a user would write it, run by tests as `python counting_app.py worker`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import millstream.agents as faust

app = faust.App(
    os.environ.get("COUNTING_ID", "counting"),
    broker=f"kafka://{os.environ.get('COUNTING_BROKER', 'localhost:9092')}",
    store="memory://",
    processing_guarantee="exactly_once",
    topic_partitions=2,
    num_stream_threads=2,
    state_dir=f"{os.environ.get('COUNTING_DIRECTORY', '.')}/state",
    web_port=0,
)


class Visit(faust.Record, serializer="json"):
    user: str
    number: int


class Count(faust.Record):
    user: str
    count: int


visits = app.topic(f"{app.id}-visits", value_type=Visit)
counts = app.topic(f"{app.id}-counts", value_type=Count)
ticks = app.topic(f"{app.id}-ticks", value_type=str)
by_user = app.Table("by-user", key_type=str, value_type=int, default=int)


@app.agent(visits)
async def enrich(stream: faust.Stream) -> None:
    """Ask somebody about each visit, and send it on to the agent that counts."""
    async for visit in stream:
        await asyncio.sleep(0.001)
        await count.cast(visit, key=visit.user)


@app.agent(value_type=Visit, sink=[counts])
async def count(stream: faust.Stream) -> AsyncIterator[Count]:
    """Count the visits of each user."""
    async for visit in stream.group_by(Visit.user):
        by_user[visit.user] += 1
        yield Count(visit.user, by_user[visit.user])


@app.agent(value_type=int)
async def double(stream: faust.Stream) -> AsyncIterator[int]:
    """Answer questions."""
    async for number in stream:
        yield number * 2


@app.page("/count/{user}/")
async def count_of(web: Any, request: Any, user: str) -> Any:
    """How often a user was there."""
    return web.json({"count": by_user[user]})


@app.page("/double/{number}/")
async def doubled(web: Any, request: Any, number: str) -> Any:
    """Ask an agent."""
    return web.json({"answer": await double.ask(int(number))})


@app.task
async def begin(app: faust.App) -> None:
    """Say that it runs, and where."""
    print(f"pages at {app.worker.url}\nrunning", flush=True)


@app.timer(0.2)
async def tick() -> None:
    """Send something now and then."""
    await ticks.send(value="tick")


if __name__ == "__main__":
    app.main()
