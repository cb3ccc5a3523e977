"""Joins of streams and tables."""

from millstream.processors.joins.grace_buffer import GraceBuffer, GraceBufferBuilder
from millstream.processors.joins.outer_store import OuterJoinStore, OuterJoinStoreBuilder
from millstream.processors.joins.self_join import SelfJoin
from millstream.processors.joins.stream_global import StreamGlobalJoin
from millstream.processors.joins.stream_stream import JoinWindowStoreOperator, StreamStreamJoin
from millstream.processors.joins.stream_table import StreamTableJoin
from millstream.processors.joins.table_table import TableJoinMerge, TableTableJoin, join_view

__all__ = [
    "GraceBuffer",
    "GraceBufferBuilder",
    "JoinWindowStoreOperator",
    "OuterJoinStore",
    "OuterJoinStoreBuilder",
    "SelfJoin",
    "StreamGlobalJoin",
    "StreamStreamJoin",
    "StreamTableJoin",
    "TableJoinMerge",
    "TableTableJoin",
    "join_view",
]
