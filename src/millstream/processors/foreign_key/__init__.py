"""The foreign-key join of two tables, in its five operators.

left table  -> SubscriptionSend   -> subscription topic -> SubscriptionReceive -> SubscriptionJoin -> response topic
right table -> ForeignTableUpdate ->                                                                  response topic
response topic -> ResponseJoin -> the result table
"""

from millstream.processors.foreign_key.left import ResponseJoin, SubscriptionSend
from millstream.processors.foreign_key.right import ForeignTableUpdate, SubscriptionJoin, SubscriptionReceive
from millstream.processors.foreign_key.store import SubscriptionStore, SubscriptionStoreBuilder
from millstream.processors.foreign_key.wire import (
    CombinedKey,
    Instruction,
    ResponseWrapper,
    ResponseWrapperSerde,
    SubscriptionWrapper,
    SubscriptionWrapperSerde,
)

__all__ = [
    "CombinedKey",
    "ForeignTableUpdate",
    "Instruction",
    "ResponseJoin",
    "ResponseWrapper",
    "ResponseWrapperSerde",
    "SubscriptionJoin",
    "SubscriptionReceive",
    "SubscriptionSend",
    "SubscriptionStore",
    "SubscriptionStoreBuilder",
    "SubscriptionWrapper",
    "SubscriptionWrapperSerde",
]
