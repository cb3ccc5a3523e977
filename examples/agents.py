"""Page views as agents count them: a table, a windowed table, and a list of suspicious visitors.

python examples/agents.py                  runs on the test driver, so it needs no broker
millstream run examples/agents.py:app      runs on Kafka and Spark, with a page at http://127.0.0.1:6066/views/home/
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import millstream.agents as faust

app = faust.App("views", broker="kafka://localhost:9092", processing_guarantee="exactly_once")


class View(faust.Record):
    """Somebody looked at a page."""

    user: str
    page: str


class Alert(faust.Record):
    """Somebody looked at very many pages."""

    user: str
    views: int


views = app.topic("views", value_type=View)
alerts = app.topic("alerts", value_type=Alert)
by_page = app.Table("by-page", key_type=str, value_type=int, default=int)
by_user = app.Table("by-user", key_type=str, value_type=int, default=int).tumbling(60, expires=3600)


@app.agent(views)
async def count_pages(stream: faust.Stream) -> None:
    async for view in stream.group_by(View.page):
        by_page[view.page] += 1


@app.agent(views, sink=[alerts])
async def watch(stream: faust.Stream) -> AsyncIterator[Alert]:
    async for view in stream.group_by(View.user):
        by_user[view.user] += 1
        seen = by_user[view.user].current()
        if seen == 3:
            yield Alert(view.user, seen)


@app.agent(alerts)
async def tell(stream: faust.Stream) -> None:
    async for alert in stream:
        print(f"{alert.user} looked at {alert.views} pages within a minute")


@app.page("/views/{page}/")
async def views_of(web: Any, request: Any, page: str) -> Any:
    return web.json({page: by_page[page]})


def demo() -> None:
    with app.test_context() as test:
        for second, (user, page) in enumerate(
            [("ann", "home"), ("bot", "home"), ("bot", "shop"), ("bot", "tea"), ("ann", "shop")]
        ):
            test.put(views, View(user, page), timestamp=1_000_000 + second)
        for page, count in sorted(by_page.items()):
            print(f"{page}: {count}")


if __name__ == "__main__":
    demo()
