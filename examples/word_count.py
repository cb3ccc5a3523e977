"""Word count, the first program of stream processing.

python examples/word_count.py
"""

from __future__ import annotations

import re

from millstream import Consumed, Grouped, Materialized, Serdes, StreamsBuilder, Topology
from millstream.testing import TopologyTestDriver

LINES = ["The mill is by the stream", "The stream turns the mill"]


def topology() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("lines", Consumed(Serdes.string, Serdes.string))
        .flat_map_values(lambda line: re.findall(r"\w+", line.lower()))
        .group_by(lambda key, word: word, Grouped(Serdes.string, Serdes.string, name="by-word"))
        .count(Materialized("counts"))
        .to_stream()
        .to("counts")
    )
    return builder.build()


def main() -> None:
    with TopologyTestDriver(topology()) as driver:
        driver.input_topic("lines", Serdes.string, Serdes.string).pipe_values(LINES)
        print("Every word is an update of the table of counts:")
        for word, count in driver.output_topic("counts", Serdes.string, Serdes.long).read_key_values():
            print(f"  {word} {count}")
        print("In the end the table is:")
        for word, count in driver.key_value_store("counts").all():
            print(f"  {word} {count}")


if __name__ == "__main__":
    main()
