"""A sum per key as an agent, the same text for Faust and for Millstream: what bench/agents_beside_faust.py runs.

SUMMING is the module to import, `faust` or `millstream.agents`; it is run as `python summing_agent.py worker`.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

faust: Any = importlib.import_module(os.environ["SUMMING"])

app = faust.App(
    os.environ["SUMMING_ID"],
    broker=f"kafka://{os.environ['SUMMING_BROKER']}",
    store="memory://",
    topic_partitions=1,
    web_enabled=False,
    **({"checkpoint_location": os.environ["SUMMING_CHECKPOINT"]} if "SUMMING_CHECKPOINT" in os.environ else {}),
)
orders = app.topic("summing-orders", key_type=str)
sums_topic = app.topic(f"{os.environ['SUMMING_ID']}-sums", key_type=str, value_type=int)
sums = app.Table("sums", key_type=str, value_type=int, default=int, partitions=1)


@app.agent(orders)  # type: ignore[untyped-decorator]  # it may be Faust's
async def add(stream: Any) -> None:
    async for key, order in stream.items():
        sums[key] += order["amount"]
        await sums_topic.send(key=key, value=sums[key])


if __name__ == "__main__":
    app.main()
