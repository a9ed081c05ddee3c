"""Deleting what is old, now: ``manage.py retention run`` and ``preview``."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.commands import EXIT_PROBLEM
from jobs.declarations import registry
from jobs.foreground import run_in_foreground
from jobs.models import JobRun
from jobs.models.audit import Via
from jobs.models.run import RunStatus
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.options import add_actor
from jobs.output.tables import Column
from jobs.output.words import when, yes_no
from jobs.reads.links import admin_url
from retention import preview
from retention.choosing import choose
from retention.sweep import Ageing, sweep

NOTHING = "No target has a number of days: everything is kept for ever."
PREVIEWED = (
    Column(title="target"),
    Column(title="due"),
    Column(title="older than"),
    Column(title="error", shrinks=True),
)
SWEPT = (
    Column(title="target"),
    Column(title="deleted"),
    Column(title="batches"),
    Column(title="truncated"),
    Column(title="error", shrinks=True),
)


@dataclass(frozen=True, kw_only=True)
class SweptItem:
    """What a run did to one target."""

    id: str
    deleted: int
    batches: int
    truncated: bool
    error: str
    run_id: int
    admin_url: str  # of the run


@dataclass(frozen=True, kw_only=True)
class SweptItems:
    """What was swept, target by target."""

    items: tuple[SweptItem, ...]
    next_before_id: None = None  # there is only one page


class Command(ConsoleCommand):
    help = "Delete what is older than its days, or count it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        run = commands.add("run", run_targets, "Delete what is due now, within the caps of a run.")
        run.add_argument("--yes", action="store_true", help="do not ask")
        run.add_argument("--dry-run", action="store_true", help="count, and delete nothing")
        add_actor(run)
        counting = commands.add("preview", preview_targets, "Count what is due; delete nothing.")
        for command in (run, counting):
            command.add_argument(
                "--target",
                nargs="+",
                action="extend",
                default=[],
                metavar="NAME",
                help="only these; also names of the hourly clean-up",
            )


def preview_targets(console: ConsoleCommand, options: Options) -> None:
    """Count, and end with 1 if a target had an error."""
    chosen = [item for items in choose(options["target"]).values() for item in items]
    found = preview.preview(chosen)
    if options["json"]:
        console.emit(found)
    else:
        console.show_table(PREVIEWED, [_preview_row(item) for item in found.items], nothing=NOTHING)
    console.leave(EXIT_PROBLEM if found.has_error else 0)


def run_targets(console: ConsoleCommand, options: Options) -> None:
    """Sweep, and end with 1 if a target had an error or the run did not come to its end."""
    if options["dry_run"]:
        preview_targets(console, options)
        return
    chosen = choose(options["target"])
    names = [item.prunable.name for items in chosen.values() for item in items]
    if names and not console.confirm(f"delete what is due of {', '.join(names)}", options):
        console.notice("Nothing was deleted.")
        console.leave(EXIT_PROBLEM)
    runs = [_run(job_id, items, options) for job_id, items in chosen.items() if items]
    swept = SweptItems(items=tuple(item for run in runs for item in _items(run)))
    if options["json"]:
        console.emit(swept)
    else:
        console.show_table(SWEPT, [_swept_row(item) for item in swept.items], nothing=NOTHING)
    for run in runs:
        if run.status != RunStatus.SUCCEEDED:
            console.notice(f"Run {run.pk} of {run.job_id} {run.status}.")
    console.leave(EXIT_PROBLEM if any(run.status != RunStatus.SUCCEEDED for run in runs) else 0)


def _run(job_id: str, items: Sequence[Ageing], options: Options) -> JobRun:
    declaration = dataclasses.replace(
        registry.get(job_id), run_once=lambda context: sweep(context, items)
    )
    return run_in_foreground(
        declaration,
        actor=command_actor(options["user"]),
        via=Via.COMMAND,
        reason=options["reason"],
    )


def _items(run: JobRun) -> list[SweptItem]:
    summary: dict[str, Any] = run.output or {}
    return [
        SweptItem(
            id=name,
            run_id=run.pk,
            admin_url=admin_url(JobRun, run.pk),
            **{"error": "", **entry},
        )
        for name, entry in summary.items()
    ]


def _preview_row(item: preview.PreviewItem) -> tuple[object, ...]:
    return (item.id, item.words, when(item.cutoff, now=item.read_at), item.error)


def _swept_row(item: SweptItem) -> tuple[object, ...]:
    return (item.id, f"{item.deleted:,}", item.batches, yes_no(item.truncated), item.error)
