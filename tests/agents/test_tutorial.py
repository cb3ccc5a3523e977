"""An application as Faust's beginners write it runs with its import changed."""

from __future__ import annotations

from typing import Any

import millstream.agents as faust

app = faust.App(
    "word-counts",
    broker="kafka://localhost:9092",
    store="rocksdb://",
    version=1,
    topic_partitions=8,
    stream_buffer_maxsize=1000,
)

posts_topic = app.topic("posts", value_type=str, retention=3600, compacting=False)
word_counts = app.Table("word_counts", default=int, help="Keep count of words (str to int).", partitions=8)
last_count: dict[str, int] = {}


@app.agent(posts_topic)
async def shuffle_words(posts: Any) -> None:
    async for post in posts:
        for word in post.split():
            await count_words.send(key=word, value=word)


@app.agent(value_type=str, concurrency=10)
async def count_words(words: Any) -> None:
    """Count words from blog post article body."""
    async for word in words:
        word_counts[word] += 1
        last_count[word] = word_counts[word]


@app.page("/count/{word}/")
@app.table_route(table=word_counts, match_info="word")
async def get_count(web: Any, request: Any, word: str) -> Any:
    return web.json({word: word_counts[word]})


@app.task
async def sender() -> None:
    await posts_topic.maybe_declare()
    for _ in range(3):
        await posts_topic.send(value="the quick fox and the lazy dog")


hello = faust.App("hello-world", broker="kafka://localhost:9092", value_serializer="raw")
greetings_topic = hello.topic("greetings")
heard: list[Any] = []


@hello.agent(greetings_topic)
async def greet(greetings: Any) -> None:
    async for greeting in greetings:
        heard.append(greeting)


def test_words_are_counted() -> None:
    with app.test_context() as test:
        test.run_tasks()
        assert last_count["the"] == word_counts["the"] == 6
        assert word_counts["fox"] == 3


def test_the_serializer_of_an_application_is_that_of_its_topics() -> None:
    with hello.test_context() as test:
        test.put(greetings_topic, b"hello")
        assert heard == [b"hello"]
