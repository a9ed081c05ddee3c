"""Look at the outbox and retry what has failed: ``manage.py outbox``."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from jobs.audit import Outcome, Refusal
from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.output.acted import changed_lines
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.errors import UsageError
from jobs.output.options import add_actor, add_paging, row_id
from jobs.output.tables import Column
from jobs.output.words import when
from jobs.reads.bounded import bounded
from jobs.verbs.actors import as_user
from realtime import verbs
from realtime.models import OutboxEvent
from realtime.reads import DEAD_LETTERS, STATES, EventItem, OutboxStats, get_stats, list_events

UNASKED = 1000
TABLE = (
    Column(title="event"),
    Column(title="state", is_state=True),
    Column(title="topic", shrinks=True),
    Column(title="what"),
    Column(title="for"),
    Column(title="key", shrinks=True),
    Column(title="tries"),
    Column(title="next try", shrinks=True),
    Column(title="error", shrinks=True),
    Column(title="written", shrinks=True, optional=True),
    Column(title="page", optional=True),
)


class WhichEventsError(UsageError):
    """Neither ids nor --all-dead, or both."""

    def __init__(self) -> None:
        super().__init__("outbox retry: name events by their ids, or say --all-dead; one of these.")


@dataclass(frozen=True, kw_only=True)
class Retried:
    """What was retried, or would be, and what was left alone."""

    changed: tuple[int, ...]
    refused: tuple[Refusal, ...]
    up_to: int | None  # the highest id that was looked at
    dry_run: bool


class Command(ConsoleCommand):
    help = "Look at the outbox of realtime, and retry events that have failed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        commands.add("stats", show_stats, "how much waits and how old the oldest is")
        listed = commands.add("list", show_events, "events, newest first")
        listed.add_argument("--state", default="", choices=[str(name) for name in STATES])
        listed.add_argument("--topic", default="", help="of this topic alone")
        add_paging(listed)
        again = commands.add("retry", retry, "make failed events due now, with no attempts counted")
        again.add_argument("events", nargs="*", type=row_id, metavar="ID")
        again.add_argument("--all-dead", action="store_true", help="every dead letter of now")
        again.add_argument("--dry-run", action="store_true", help="say what would be done")
        again.add_argument("--yes", action="store_true", help="do not ask")
        add_actor(again)


def show_stats(console: ConsoleCommand, options: Options) -> None:
    """Print the outbox in figures."""
    with bounded():
        stats = get_stats()
    console.show(stats, options, lambda: _stat_lines(stats))


def show_events(console: ConsoleCommand, options: Options) -> None:
    """Print a page of events."""
    with bounded():
        page = list_events(
            state=options["state"],
            topic=options["topic"],
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE, _row, nothing="There is no such event.")


def retry(console: ConsoleCommand, options: Options) -> None:
    """Retry the named events, or all dead letters; end with 1 if nothing was."""
    if bool(options["events"]) == options["all_dead"]:
        raise WhichEventsError
    ids = _all_dead() if options["all_dead"] else sorted(set(options["events"]))
    if options["dry_run"]:
        rows = OutboxEvent.objects.filter(verbs.RETRIABLE, pk__in=ids).order_by("pk")
        outcome = Outcome(changed=tuple(rows.values_list("pk", flat=True)))
    else:
        if len(ids) > UNASKED and not console.confirm(f"retry {len(ids):,} events", options):
            console.notice("Nothing was done.")
            console.leave(EXIT_PROBLEM)
        actor = as_user(command_actor(options["user"]))
        outcome = verbs.retry(ids, actor=actor, via=Via.COMMAND, reason=options["reason"])
    answer = Retried(
        changed=outcome.changed,
        refused=outcome.refused,
        up_to=max(ids, default=None),
        dry_run=options["dry_run"],
    )
    what = "would retry" if answer.dry_run else "retry"
    console.show(answer, options, lambda: changed_lines(outcome, what=what, noun="event"))
    console.leave(EXIT_PROBLEM if ids and not outcome.changed else 0)


def _all_dead() -> list[int]:
    dead = OutboxEvent.objects.filter(DEAD_LETTERS)
    return list(dead.order_by("pk").values_list("pk", flat=True))


def _row(event: EventItem) -> tuple[object, ...]:
    return (
        event.id,
        event.state,
        event.topic,
        event.event,
        event.mode,
        event.ordering_key or "",
        f"{event.attempts}/{event.max_attempts}",
        when(event.next_retry_at, now=event.read_at),
        event.error_head,
        when(event.created_at, now=event.read_at),
        event.admin_url,
    )


def _stat_lines(stats: OutboxStats) -> list[str]:
    names = ("pending", "processing", "retrying", "dead", "completed_last_hour", "sessions")
    lines = [f"{name.replace('_', ' ')}: {getattr(stats, name):,}" for name in names]
    if stats.is_capped:
        lines.append("10,000 stands for 10,000 or more.")
    if stats.oldest_pending_at is not None:
        lines.append(f"oldest pending: {when(stats.oldest_pending_at, now=stats.read_at)}")
    return lines
