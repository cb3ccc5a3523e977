"""`millstream reset`: an application begins anew, as with `kafka-streams-application-reset`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from millstream.cli.commands.reset_plan import ResetPlan, Target, carry_out, internal_topics, make_plan, source_topics
from millstream.cli.connection import PATIENCE, ClientOptions, Servers, reaching
from millstream.cli.loading import load_application
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError, StreamsError
from millstream.kafka.admin import Partition
from millstream.kafka.group_admin import GroupAdmin

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def reset(
    application: Annotated[
        str | None, typer.Argument(metavar="[APP]", help="app.py or package.module, and if need be :name.")
    ] = None,
    application_id: Annotated[str | None, typer.Option(help="The application's id, if APP is not there.")] = None,
    input_topics: Annotated[
        list[str] | None, typer.Option(help="Topics to read again; APP's sources, or all it has positions of.")
    ] = None,
    intermediate_topics: Annotated[
        list[str] | None, typer.Option(help="Topics that it fills and reads itself: what is in them is skipped.")
    ] = None,
    internal: Annotated[
        list[str] | None, typer.Option("--internal-topics", help="Delete these internal topics only.")
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="Read all again; this is the default.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Read only what comes from now on.")] = False,
    to_datetime: Annotated[str | None, typer.Option(help="Read from a time on: 2026-01-31T14:00:00, in UTC.")] = None,
    by_duration: Annotated[str | None, typer.Option(help="Read from so long ago on: P1DT2H30M.")] = None,
    to_offset: Annotated[int | None, typer.Option(min=0, help="Read from this offset on, in all partitions.")] = None,
    shift_by: Annotated[int | None, typer.Option(help="So many records further (or back, if negative).")] = None,
    checkpoint: Annotated[str | None, typer.Option(help="Where the checkpoint is, if it was given to `run`.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Have an application begin anew: set its positions, delete its internal topics and its state."""
    topology = None
    config = StreamsConfig(application_id=application_id or "app")
    if application is not None:
        loaded = load_application(application)
        topology = loaded.topology
        config = loaded.config or StreamsConfig(application_id=loaded.name)
    elif application_id is None:
        raise ArgumentError("which application?", hint="give app.py, or --application-id")
    changes = {"application_id": application_id, "checkpoint_location": checkpoint}
    config = replace(config, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]
    target = chosen(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_datetime=to_datetime,
        by_duration=by_duration,
        to_offset=to_offset,
        shift_by=shift_by,
    )
    config = reaching(config, servers, client)
    admin = GroupAdmin(config, timeout=PATIENCE)
    try:
        _refuse_if_it_runs(admin, config.application_id)
        if input_topics:
            inputs: Collection[str] = input_topics
        elif topology is not None:
            inputs = source_topics(topology, admin.topics())
        else:
            mine = internal_topics(admin, config.application_id)
            inputs = sorted({topic for topic, _ in admin.positions(config.application_id)} - set(mine))
        inputs = [topic for topic in inputs if topic not in (intermediate_topics or ())]
        plan = make_plan(admin, config, target, inputs, intermediate_topics or (), internal)
        _show(plan)
        if dry_run:
            return
        if not yes:
            typer.confirm("do this?", abort=True, err=True)
        _refuse_if_it_runs(admin, config.application_id)
        carry_out(plan, admin, config)
        typer.echo(f"{plan.application_id} begins anew with its next start")
    finally:
        admin.close()


def _refuse_if_it_runs(admin: GroupAdmin, application: str) -> None:
    group = admin.describe(application)
    if group.members:
        where = ", ".join(sorted({member.host for member in group.members}))
        raise StreamsError(
            f"{application} is running",
            detail=f"its group has {len(group.members)} members, on {where}",
            hint="stop it first; one that was killed is forgotten by the broker within a minute",
        )


def _show(plan: ResetPlan) -> None:
    typer.echo(f"reset {plan.application_id}:")
    for at in sorted(plan.offsets):
        before = plan.before.get(at)
        typer.echo(
            f"  {at[0]}, partition {at[1]}: read from offset {plan.offsets[at]}"
            f" ({'nothing was committed' if before is None else f'now {before}'})"
        )
    for topic in plan.topics:
        typer.echo(f"  delete topic {topic}")
    for group in plan.groups:
        typer.echo(f"  delete group {group}")
    if plan.checkpoint is not None:
        typer.echo(f"  remove checkpoint {plan.checkpoint}")
    if plan.foreign is not None:
        typer.echo(f"  leave alone: {plan.foreign}")
    for directory in plan.directories:
        typer.echo(f"  remove {directory}")


# --- where to


def chosen(
    *,
    to_earliest: bool = False,
    to_latest: bool = False,
    to_datetime: str | None = None,
    by_duration: str | None = None,
    to_offset: int | None = None,
    shift_by: int | None = None,
) -> Target:
    """The target of the one option that was given; the beginning without any."""
    given = [
        name
        for name, value in (
            ("--to-earliest", to_earliest or None),
            ("--to-latest", to_latest or None),
            ("--to-datetime", to_datetime),
            ("--by-duration", by_duration),
            ("--to-offset", to_offset),
            ("--shift-by", shift_by),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise ArgumentError(f"{' and '.join(given)} contradict each other", hint="give one of them")
    if to_latest:
        return lambda admin, partitions, before: admin.end_offsets(partitions)
    if to_datetime is not None:
        return _since(_time(to_datetime))
    if by_duration is not None:
        return _since(datetime.now(UTC) - duration(by_duration))
    if to_offset is not None:
        return lambda admin, partitions, before: _within(admin, dict.fromkeys(partitions, to_offset))
    if shift_by is not None:
        return _shift(shift_by)
    return lambda admin, partitions, before: admin.begin_offsets(partitions)


def _since(time: datetime) -> Target:
    def at_time(
        admin: GroupAdmin, partitions: Collection[Partition], before: dict[Partition, int]
    ) -> dict[Partition, int]:
        found = admin.offsets_for_times(dict.fromkeys(partitions, max(0, int(time.timestamp() * 1000))))
        end = admin.end_offsets(partitions)
        return {at: end[at] if offset is None else offset for at, offset in found.items()}

    return at_time


def _shift(count: int) -> Target:
    def shifted(
        admin: GroupAdmin, partitions: Collection[Partition], before: dict[Partition, int]
    ) -> dict[Partition, int]:
        begin = admin.begin_offsets(partitions)
        return _within(admin, {at: before.get(at, begin[at]) + count for at in partitions})

    return shifted


def _within(admin: GroupAdmin, offsets: dict[Partition, int]) -> dict[Partition, int]:
    """Offsets that there are: the nearest ones."""
    begin, end = admin.begin_offsets(offsets), admin.end_offsets(offsets)
    return {at: min(max(offset, begin[at]), end[at]) for at, offset in offsets.items()}


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentError(f"--to-datetime cannot be {text!r}", hint="write it as 2026-01-31T14:00:00") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def duration(text: str) -> timedelta:
    """A duration in ISO's form.

    >>> duration("P1DT2H30M")
    datetime.timedelta(days=1, seconds=9000)
    """
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ArgumentError(f"--by-duration cannot be {text!r}", hint="write it as P1DT2H30M, or PT15M")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
