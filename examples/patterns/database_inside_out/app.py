"""Database inside-out: one log of products, and three views of it, each in the shape that its readers want.

    millstream run examples.patterns.database_inside_out.app --port 8090

Nobody writes to a view but the log. A view that is wrong, or is missing, is made again from the log.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream import (
    Consumed,
    Grouped,
    KTable,
    Materialized,
    Processor,
    ProcessorContext,
    Record,
    Repartitioned,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="database-inside-out", processing_guarantee="exactly_once_v2")

PRODUCTS = "products"
BY_ID, BY_CATEGORY, BY_WORD = "products-by-id", "products-by-category", "products-by-word"


@dataclass(frozen=True)
class Product:
    """The newest state of a product; a tombstone takes it out of all views."""

    name: str
    category: str
    cents: int


@dataclass(frozen=True)
class Category:
    """What a shop window needs of a category."""

    products: int = 0
    cents: int = 0


@dataclass(frozen=True)
class Mention:
    """A product has a word in its name, or has it no longer."""

    product: str
    there: bool


def words(product: Product | None) -> set[str]:
    """What a product can be found by."""
    return set() if product is None else set(product.name.lower().split())


class Mentions(Processor[str, Product, str, Mention]):
    """Compares a product with what it was before, and tells which words came and went."""

    def init(self, context: ProcessorContext[str, Mention]) -> None:
        super().init(context)
        self.known = context.state_store("products-with-words")

    def process(self, record: Record[str, Product]) -> None:
        old, new = words(self.known.get(record.key)), words(record.value)
        self.known.put(record.key, record.value)
        for word in sorted(old ^ new):
            self.context.forward(Record(word, Mention(record.key, word in new), record.timestamp))


def no_products() -> list[str] | None:
    """A word that nobody mentioned."""
    return None


def with_mention(word: str, mention: Mention, products: list[str] | None) -> list[str] | None:
    """The products of a word; None, which removes the word, when there are none left."""
    found = set(products or ()) - {mention.product}
    return sorted({*found, mention.product} if mention.there else found) or None


def add_by_id(builder: StreamsBuilder) -> KTable[str, Product]:
    """The products themselves."""
    consumed = Consumed(Serdes.string, Serdes.json(Product))
    return builder.table(PRODUCTS, consumed, Materialized(BY_ID))


def add_by_category(products: KTable[str, Product]) -> None:
    """Sums that follow every change: a product that moves is taken from one category and added to the other."""
    products.group_by(
        lambda key, product: (product.category, product.cents), Grouped(Serdes.string, Serdes.json(int), "by-category")
    ).aggregate(
        Category,
        lambda key, cents, sums: Category(sums.products + 1, sums.cents + cents),
        lambda key, cents, sums: Category(sums.products - 1, sums.cents - cents),
        materialized=Materialized(BY_CATEGORY, value=Serdes.json(Category)),
    )


def add_by_word(builder: StreamsBuilder, products: KTable[str, Product]) -> None:
    """A search index."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("products-with-words"), Serdes.string, Serdes.json(Product))
    )
    (
        products.to_stream()
        .process(Mentions, "products-with-words", name="mentions")
        .repartition(Repartitioned(Serdes.string, Serdes.json(Mention), "products-by-word"))
        .group_by_key(Grouped(Serdes.string, Serdes.json(Mention)))
        .aggregate(no_products, with_mention, Materialized(BY_WORD, value=Serdes.json(list[str])))
    )


def add_to(builder: StreamsBuilder) -> None:
    """All views; each may as well be an application of its own."""
    products = add_by_id(builder)
    add_by_category(products)
    add_by_word(builder, products)


def topology() -> Topology:
    """All views in one application."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
