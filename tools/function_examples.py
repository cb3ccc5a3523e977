"""Examples of SQL's functions, `function_examples.toml`, and what they give when they are run.

Each is run as a user would: a stream, a query that calls the function, records. The pages of the functions show them,
and a test holds that every one gives what the file says.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import orjson

from millstream import Ksql
from millstream.sql.functions.model import FunctionDescription

FILE = Path(__file__).with_suffix(".toml")

#: What these give is shown as text; in JSON they are numbers.
_SHOWN_AS_TEXT = ("DATE", "TIME", "TIMESTAMP")


@dataclass(frozen=True)
class Example:
    """A call and what it gives, as JSON.

    Attributes:
        type: of the column `v` that an aggregate is computed from; empty for other functions.
        values: of that column, in the order of the records; as SQL writes them.
    """

    call: str
    gives: str
    type: str = ""
    values: tuple[str, ...] = ()


def examples() -> dict[str, Example]:
    """The examples by the name of their function."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Example(entry["call"], entry["gives"], entry.get("type", ""), tuple(entry.get("values", ())))
        for name, entry in table.items()
    }


def run(function: FunctionDescription, example: Example) -> str:
    """What the call of an example gives: JSON, or the text of a date or time; a table function one value per row."""
    call = example.call
    if all(variant.returns in _SHOWN_AS_TEXT for variant in function.variants):
        call = f"CAST({call} AS STRING)"
    kind = "TABLE" if function.kind == "AGGREGATE" else "STREAM"
    group = "GROUP BY id" if function.kind == "AGGREGATE" else ""
    inserts = "".join(f"INSERT INTO source VALUES (1, {value});" for value in example.values or ["NULL"])  # noqa: S608
    with Ksql.in_memory() as ksql:
        ksql.execute(f"""
            CREATE STREAM source (id INT KEY, v {example.type or "INT"})
              WITH (kafka_topic='source', value_format='JSON');
            CREATE {kind} result AS SELECT id, {call} AS r FROM source {group};
            {inserts}
        """)  # noqa: S608 - our own calls
        records = ksql.topics.read("RESULT", from_beginning=True)
    shown = [orjson.dumps(orjson.loads(record.value or b"")["R"]).decode() for record in records]
    if function.kind == "AGGREGATE":
        return shown[-1]
    return "; ".join(shown)
