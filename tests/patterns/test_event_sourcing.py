"""Snapshots and the events after them are enough, however much of both is gone."""

from __future__ import annotations

import random

from examples.patterns.event_sourcing import app
from hypothesis import given
from hypothesis import strategies as st

commands = st.builds(
    app.Command,
    kind=st.sampled_from(("deposit", "withdraw", "close")),
    cents=st.integers(0, 30),
    expected=st.none() | st.integers(0, 10),
)
histories = st.lists(st.tuples(st.sampled_from("abc"), commands), max_size=80)


def written(history: list[tuple[str, app.Command]]) -> tuple[
    list[tuple[str, app.Account | None]], list[tuple[str, app.Event]], dict[str, app.Account]
]:  # fmt: skip
    """What a history leaves in both topics, and the accounts it leads to."""
    accounts: dict[str, app.Account] = {}
    snapshots: list[tuple[str, app.Account | None]] = []
    events: list[tuple[str, app.Event]] = []
    for key, command in history:
        decision = app.decide(accounts.get(key, app.Account()), command)
        accounts[key] = decision.account
        if decision.event is not None:
            events.append((key, decision.event))
            if app.is_due(decision.account):
                snapshots.append((key, None if decision.account.closed else decision.account))
    return snapshots, events, {key: it for key, it in accounts.items() if it.version and not it.closed}


@given(histories, st.randoms(use_true_random=False))
def test_compaction_and_retention_change_nothing(history: list[tuple[str, app.Command]], chance: random.Random) -> None:
    snapshots, events, accounts = written(history)
    assert app.rebuild([], events) == app.rebuild(snapshots, events) == accounts
    last = {key: at for at, (key, _) in enumerate(snapshots)}
    # Compaction keeps the last row of each key, and of the others what it has not come to yet; of tombstones nothing.
    compacted = [
        (key, account)
        for at, (key, account) in enumerate(snapshots)
        if (at == last[key] and account is not None) or (at != last[key] and chance.random() < 0.3)
        if not (account is not None and at != last[key] and snapshots[last[key]][1] is None)
    ]
    assert app.rebuild(compacted, events) == accounts
    # Retention takes the oldest events, as far as snapshots cover them.
    covered = {key: account.version for key, account in snapshots if account is not None}
    covered |= dict.fromkeys((key for key, account in snapshots if account is None), 10**9)
    needed = [at for at, (key, event) in enumerate(events) if event.version > covered.get(key, 0)]
    kept = events[chance.randint(0, min(needed, default=len(events))) :]
    assert app.rebuild(compacted, kept) == accounts


@given(histories)
def test_no_balance_goes_below_zero_and_no_event_follows_the_end(history: list[tuple[str, app.Command]]) -> None:
    _, events, _ = written(history)
    for key in "abc":
        account = app.Account()
        for event in (event for of, event in events if of == key):
            assert not account.closed
            account = app.after(account, event)
            assert account.cents >= 0
            assert account.version == event.version


@given(st.integers(1, 20), commands)
def test_who_saw_an_older_version_is_refused(version: int, command: app.Command) -> None:
    account = app.Account(version, 1_000)
    decision = app.decide(account, app.Command(command.kind, command.cents, expected=version - 1))
    assert decision.event is None
    assert decision.account == account
