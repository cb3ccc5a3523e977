"""The short way of the commonest request: one key, of a copy that is here, with nothing required of the answer.

Whatever is not as common, or goes wrong, is left to the long way, which says the same of a key that it finds, and knows
what to say of others.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.kafka.partitioner import partition_for
from millstream.server.guard import Message, Scope, whole_answer
from millstream.server.views import rendering
from millstream.server.views.keys import key_of
from millstream.server.views.parameters import REQUIREMENTS
from millstream.state.suppliers import StoreKind
from millstream.views.answers import AnsweredBy
from millstream.views.api import Views, of_objects
from millstream.views.instance.copies import PartitionCopy

_STORES = b"/stores/"
_KEYS = b"/keys/"
_REQUIRING = frozenset(name.replace("_", "-").encode() for name in REQUIREMENTS)
_KINDS = (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE)


class QuickKeys:
    """Answers what can be answered at once.

    Args:
        views: who knows.
    """

    def __init__(self, views: Views) -> None:
        self._views = views
        self._by = AnsweredBy(views.instance.id, is_standby=False)

    def answer(self, scope: Scope) -> Iterable[Message] | None:
        """The answer, or None if the request must go the long way (`AtOnce`)."""
        path: bytes = scope["raw_path"]
        if not path.startswith(_STORES) or scope.get("method") != "GET" or scope["query_string"] or b"%" in path:
            return None
        store, is_key, key = path[len(_STORES) :].partition(_KEYS)
        if not is_key or not _REQUIRING.isdisjoint([name for name, _ in scope["headers"]]):
            return None
        body = self._look_up(store.decode(), key.decode())
        return None if body is None else whole_answer(body, rendering.headers(body))

    def _look_up(self, store: str, text: str) -> bytes | None:
        views = self._views
        view = views.find(store)
        if view.kind not in _KINDS:
            return None
        data = view.key.serialize(key_of(text, view.key))
        partition = partition_for(data, views.partitions_of(view))
        copy = views.local_copies().get((store, partition))
        if not isinstance(copy, PartitionCopy) or not copy.owned:
            return None
        found = copy.find(data)
        if found is None:
            return None
        row, lag = found
        standing = rendering.of_one(partition, view.topic, lag, self._by)
        return rendering.encode({"store": store, **rendering.row(of_objects(view, row)), **standing})
