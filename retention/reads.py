"""What is known of the targets: the same for pages, commands and tools."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from jobs.alerts.statements import fetch
from jobs.models import JobRun
from jobs.models.run import RunStatus
from jobs.pruning import RetentionTarget, targets
from jobs.reads.links import admin_url
from jobs.schedule import database_now
from retention.days import days_words
from retention.models import TargetConfig

SWEEP = "retention.sweep"
RUNS_READ = 10  # one by hand may have swept a few targets only
ENDED = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED)


@dataclass(frozen=True, kw_only=True)
class LastSwept:
    """What the last sweep did to a target."""

    run_id: int
    at: dt.datetime | None
    deleted: int
    batches: int
    truncated: bool
    error: str


@dataclass(frozen=True, kw_only=True)
class TargetItem:
    """One target, with its days and what came of them last."""

    id: str  # its name
    label: str
    help: str
    table: str
    days: int | None  # None: for ever
    enabled: bool
    keeps: str  # in words
    declared: bool  # False: no installed app knows it any more
    last: LastSwept | None
    read_at: dt.datetime
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class Targets:
    """All targets, in the order in which they are swept."""

    items: tuple[TargetItem, ...]
    next_before_id: None = None  # there is only one page


def list_targets() -> Targets:
    """Return the declared targets, and those that only the table knows."""
    rows = {row.name: row for row in target_rows()}
    now, last = database_now(), last_swept()
    names = [target.name for target in targets]
    names += sorted(name for name in rows if targets.find(name) is None)
    return Targets(
        items=tuple(target_item(name, rows.get(name), last.get(name), now) for name in names)
    )


def target_rows() -> QuerySet[TargetConfig]:
    """Return the rows that operators edit."""
    return TargetConfig.objects.all()


def target_item(
    name: str, row: TargetConfig | None, last: LastSwept | None, now: dt.datetime
) -> TargetItem:
    """Return a target as pages and commands show it."""
    target: RetentionTarget | None = targets.find(name)
    return TargetItem(
        id=name,
        label=target.label if target else name,
        help=target.help if target else "No installed app declares it any more.",
        table=target.model._meta.db_table if target else "",
        days=row.days if row else None,
        enabled=row.enabled if row else True,
        keeps=_keeps(row),
        declared=target is not None,
        last=last,
        read_at=now,
        admin_url=admin_url(TargetConfig, name),
    )


def last_swept() -> Mapping[str, LastSwept]:
    """Return what the newest sweep that had a target did to it; looks at a few runs only."""
    newest = fetch("last_runs", {"job_ids": [SWEEP], "limit": RUNS_READ})
    ended = [run["id"] for run in newest if run["status"] in ENDED]
    runs = JobRun.objects.filter(pk__in=ended).order_by("-id")
    found: dict[str, LastSwept] = {}
    for run in runs.only("id", "finished_at", "output"):
        summary = run.output if isinstance(run.output, dict) else {}
        for name, entry in summary.items():
            if isinstance(entry, dict):
                found.setdefault(name, _last(run, entry))
    return found


def _last(run: JobRun, entry: Mapping[str, Any]) -> LastSwept:
    return LastSwept(
        run_id=run.pk,
        at=run.finished_at,
        deleted=entry.get("deleted", 0),
        batches=entry.get("batches", 0),
        truncated=entry.get("truncated", False),
        error=entry.get("error", ""),
    )


def _keeps(row: TargetConfig | None) -> str:
    if row is not None and not row.enabled:
        return "not swept"
    return days_words(row.days if row else None)
