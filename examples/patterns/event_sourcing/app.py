"""Event sourcing: an account is what happened to it.

    millstream run examples.patterns.event_sourcing.app

Commands are decided against the account's state, and what was decided is an event. The log of events is kept; a
compacted topic beside it has a snapshot of each account, so that nobody has to read the log from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from millstream import (
    Consumed,
    Processor,
    ProcessorContext,
    Produced,
    Record,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="event-sourcing", processing_guarantee="exactly_once_v2")

COMMANDS, EVENTS, SNAPSHOTS, REFUSALS = "account-commands", "account-events", "account-snapshots", "account-refusals"
SNAPSHOT_EVERY = 5


@dataclass(frozen=True)
class Command:
    """What somebody wants, who saw the account at a version (`expected`), or does not care (None)."""

    kind: Literal["deposit", "withdraw", "close"]
    cents: int = 0
    expected: int | None = None


@dataclass(frozen=True)
class Event:
    """What happened. Versions of an account are 1, 2, 3 ..."""

    version: int
    kind: Literal["deposited", "withdrawn", "closed"]
    cents: int = 0


@dataclass(frozen=True)
class Account:
    """The state after some events; this is what a snapshot has."""

    version: int = 0
    cents: int = 0
    closed: bool = False


@dataclass(frozen=True)
class Decision:
    """An event and the account after it, or why there is none."""

    event: Event | None
    account: Account
    refusal: str = ""


def after(account: Account, event: Event) -> Account:
    """The account after an event: the one place that knows what events mean."""
    if event.version != account.version + 1:
        return account  # it is in the state already, or the log before it is gone
    change = {"deposited": event.cents, "withdrawn": -event.cents, "closed": 0}[event.kind]
    return Account(event.version, account.cents + change, event.kind == "closed")


def decide(account: Account, command: Command) -> Decision:
    """What comes of a command."""
    if account.closed:
        return Decision(None, account, "the account is closed")
    if command.expected is not None and command.expected != account.version:
        return Decision(None, account, f"the account is at version {account.version}, not {command.expected}")
    if command.kind == "withdraw" and command.cents > account.cents:
        return Decision(None, account, f"there are only {account.cents} cents")
    if command.kind == "close" and account.cents:
        return Decision(None, account, f"there are still {account.cents} cents")
    kinds: dict[str, Literal["deposited", "withdrawn", "closed"]] = {
        "deposit": "deposited", "withdraw": "withdrawn", "close": "closed",
    }  # fmt: skip
    event = Event(account.version + 1, kinds[command.kind], command.cents)
    return Decision(event, after(account, event))


def is_due(account: Account) -> bool:
    """Whether a snapshot is to be taken."""
    return account.closed or account.version % SNAPSHOT_EVERY == 0


def rebuild(snapshots: Iterable[tuple[str, Account | None]], events: Iterable[tuple[str, Event]]) -> dict[str, Account]:
    """All open accounts, of snapshots and the events after them; without snapshots, of all events there are."""
    accounts: dict[str, Account] = {}
    for key, snapshot in snapshots:
        if snapshot is None:
            accounts.pop(key, None)
        else:
            accounts[key] = snapshot  # a compacted topic may still have older ones: the last one counts
    for key, event in events:
        accounts[key] = after(accounts.get(key, Account()), event)
    return {key: account for key, account in accounts.items() if account.version and not account.closed}


class Handler(Processor[str, Command, str, Decision]):
    """Decides commands one by one for each account."""

    def init(self, context: ProcessorContext[str, Decision]) -> None:
        super().init(context)
        self.accounts = context.state_store("accounts")

    def process(self, record: Record[str, Command]) -> None:
        decision = decide(self.accounts.get(record.key) or Account(), record.value)
        self.accounts.put(record.key, decision.account)
        self.context.forward(record.with_value(decision))


def add_to(builder: StreamsBuilder) -> None:
    """Commands in; events, snapshots and refusals out, in one transaction."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("accounts"), Serdes.string, Serdes.json(Account))
    )
    commands = builder.stream(COMMANDS, Consumed(Serdes.string, Serdes.json(Command)))
    decisions = commands.process(Handler, "accounts", name="decide-account")
    happened = decisions.filter(lambda key, decision: decision.event is not None, name="happened")
    happened.map_values(lambda decision: decision.event).to(EVENTS, Produced(Serdes.string, Serdes.json(Event)))
    # A closed account gets a tombstone: compaction removes it, and nobody builds it up again.
    (
        happened.filter(lambda key, decision: is_due(decision.account), name="now-and-then")
        .map_values(lambda decision: None if decision.account.closed else decision.account)
        .to(SNAPSHOTS, Produced(Serdes.string, Serdes.json(Account)))
    )
    (
        decisions.filter(lambda key, decision: decision.event is None, name="refused")
        .map_values(lambda decision: decision.refusal)
        .to(REFUSALS, Produced(Serdes.string, Serdes.string))
    )


def topology() -> Topology:
    """The command handler."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
