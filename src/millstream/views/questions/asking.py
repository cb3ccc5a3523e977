"""The way of a question: to the copies that can answer it, here and elsewhere, and back as one answer.

Keys and values are bytes here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from millstream.errors import NotUpToBound, PartitionNotHere, ViewError, WrongQuery
from millstream.kafka.errors import KafkaError
from millstream.kafka.partitioner import partition_for
from millstream.views.answers import Answer, Instance, Row
from millstream.views.catalogue import ViewStore
from millstream.views.instance import lookup
from millstream.views.instance.copies import Copy, Task, not_ready, oversized
from millstream.views.instance.server import ViewServer
from millstream.views.queries import KeysQuery, PrefixQuery, Query, RangeQuery, Requirements
from millstream.views.questions.merging import merged, row_order, with_rows
from millstream.views.questions.remote import Remote
from millstream.views.questions.routing import candidates


class Asking:
    """Asks copies.

    Args:
        server: this instance's copies, and what it knows of others.
        instance: this instance.
        remote: how others are asked, if they can be.
        max_rows: how many rows an answer may have.
    """

    def __init__(self, server: ViewServer, instance: Instance, remote: Remote | None, max_rows: int) -> None:
        self._server = server
        self._instance = instance
        self._remote = remote
        self._max_rows = max_rows

    def ask(self, view: ViewStore, query: Query, needs: Requirements) -> Answer:
        """The answer to a question that `lookup.check` has let pass, from wherever its partitions are."""
        layout = self._server.check()
        _check(query, needs)
        if view.is_global:
            return self.here(view, query, needs, (0,))
        count = layout.partitions[view.topic]
        every = _chosen(view, needs, count)
        if lookup.is_of_one_key(query):
            return self._of_key(view, query, needs, every, partition_for(query.key, count))  # type: ignore[union-attr]
        if isinstance(query, KeysQuery):
            return self._of_keys(view, query, needs, every, count)
        answer = self._everywhere(view, query, needs, every)
        if needs.limit is None and len(answer.rows) > self._max_rows:
            raise oversized(view, self._max_rows)
        return answer

    def here(self, view: ViewStore, query: Query, needs: Requirements, partitions: Iterable[int]) -> Answer:
        """The answer of this instance for these partitions."""
        copies = []
        for number in partitions:
            copy = self._server.reading.copies.get((view.name, number))
            if copy is None:
                if view.is_global:
                    raise not_ready(view, number)
                raise PartitionNotHere(
                    f"partition {number} of store '{view.name}' is not on instance {self._instance.id}",
                    hint="try again: it may have moved just now",
                )
            copies.append(copy)
        if needs.max_staleness is not None:
            self._look(copies, needs.max_staleness.total_seconds())
        answers = [copy.answer(self._instance.id, query, needs, self._max_rows) for copy in copies]
        return self._merged(view, query, needs, answers)

    def candidates(self, view: ViewStore, partition: int, *, allow_standby: bool = False) -> list[Instance]:
        """The instances that can answer for a partition, the best first."""
        copy = self._server.reading.copies.get((view.name, partition))
        return candidates(
            self._instance.id,
            view.name,
            Task(view.sub_topology or 0, partition).name,
            self._server.members.alive,
            local=copy is not None and copy.has_read_up,
            allow_standby=allow_standby,
        )

    def _of_key(self, view: ViewStore, query: Query, needs: Requirements, every: Collection[int], home: int) -> Answer:
        if home not in every:
            return self._everywhere(view, query, needs, every)
        answer = self._everywhere(view, query, needs, (home,))
        others = [number for number in every if number != home]
        if answer.rows or not others or not view.scattered:
            return answer
        further = self._everywhere(view, query, needs, others)
        return with_rows((answer, further), further.rows, further.more)

    def _of_keys(
        self, view: ViewStore, query: KeysQuery, needs: Requirements, every: Collection[int], count: int
    ) -> Answer:
        needs = replace(needs, limit=None)  # which keys would be left out?
        homes = {partition_for(key, count) for key in query.keys} & set(every)
        answers = [self._everywhere(view, query, needs, sorted(homes))] if homes else []
        found: dict[bytes, Row] = {row.key: row for answer in answers for row in answer.rows}
        missing = tuple(key for key in query.keys if key not in found)
        others = [number for number in every if number not in homes]
        if missing and others and view.scattered:
            answers.append(self._everywhere(view, KeysQuery(missing), needs, others))
            found.update({row.key: row for row in answers[-1].rows})
        return with_rows(answers, [found[key] for key in query.keys if key in found], False)

    def _everywhere(self, view: ViewStore, query: Query, needs: Requirements, partitions: Collection[int]) -> Answer:
        """The answer of several partitions: each from the best copy that answers."""
        whom = {number: self.candidates(view, number, allow_standby=needs.allow_standby) for number in partitions}
        answers: list[Answer] = []
        why: dict[int, ViewError] = {}
        while whom:
            groups: dict[Instance, list[int]] = {}
            for number, instances in whom.items():
                if not instances:
                    raise why.get(number) or not_ready(view, number)
                groups.setdefault(instances[0], []).append(number)
            for numbers, found in self._of_all(groups, view, query, needs):
                if isinstance(found, Answer):
                    answers.append(found)
                    for number in numbers:
                        del whom[number]
                elif not found.retriable:
                    raise found
                else:  # another copy may do
                    for number in numbers:
                        why.setdefault(number, found)
                        whom[number].pop(0)
        return self._merged(view, query, needs, answers)

    def _of_all(
        self, groups: dict[Instance, list[int]], view: ViewStore, query: Query, needs: Requirements
    ) -> list[tuple[list[int], Answer | ViewError]]:
        """What instances answer; several of them at the same time, if it is a scan."""

        def asked(instance: Instance) -> Answer | ViewError:
            try:
                return self._of(instance, view, query, needs, groups[instance])
            except ViewError as error:
                return error

        if len(groups) == 1 or lookup.is_of_one_key(query):
            found = [asked(instance) for instance in groups]
        else:
            with ThreadPoolExecutor(len(groups)) as threads:
                found = list(threads.map(asked, groups))
        return list(zip(groups.values(), found, strict=True))

    def _of(
        self, instance: Instance, view: ViewStore, query: Query, needs: Requirements, partitions: list[int]
    ) -> Answer:
        if instance.id == self._instance.id:
            return self.here(view, query, needs, partitions)
        if self._remote is None or instance.host is None:
            raise PartitionNotHere(
                f"partitions {', '.join(map(str, partitions))} of store '{view.name}' are on instance {instance.id}",
                detail="that has no address for questions" if instance.host is None else "it cannot be asked from here",
                hint="ask there, or serve this instance's views over HTTP",
            )
        return self._remote.ask(instance, view.name, query, needs, partitions)

    def _merged(self, view: ViewStore, query: Query, needs: Requirements, answers: list[Answer]) -> Answer:
        reverse: bool = getattr(query, "reverse", False)
        return merged(answers, row_order(view.kind, view.supplier), reverse=reverse, limit=needs.limit)

    def _look(self, copies: Iterable[Copy], seconds: float) -> None:
        stale = [copy for copy in copies if not copy.is_fresh(seconds)]
        if stale:
            try:
                self._server.look_now(stale)
            except KafkaError as error:
                raise NotUpToBound(
                    "how fresh the answer would be is not known", detail=str(error), hint="try again in a moment"
                ) from error


def _chosen(view: ViewStore, needs: Requirements, count: int) -> list[int]:
    if needs.partitions is None:
        return list(range(count))
    strange = sorted(number for number in needs.partitions if not 0 <= number < count)
    if strange or not needs.partitions:
        raise WrongQuery(
            f"store '{view.name}' has no partition {strange[0]}" if strange else "no partitions are to be asked",
            detail=f"it has {count}, from 0 to {count - 1}",
        )
    return sorted(needs.partitions)


def _check(query: Query, needs: Requirements) -> None:
    if needs.limit is not None and needs.limit < 1:
        raise WrongQuery(f"limit cannot be {needs.limit}", hint="give at least 1, or none")
    if needs.after is not None and not isinstance(query, RangeQuery | PrefixQuery):
        raise WrongQuery("only a scan over keys can go on after a key", detail=f"it is a {type(query).__name__}")
