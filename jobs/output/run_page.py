"""The page of a run as text, and lines of the log stream."""

from __future__ import annotations

import datetime as dt
import json

from jobs.output.job_page import labelled
from jobs.output.text import one_line, pad, plain
from jobs.output.words import progress_words, took, when
from jobs.reads.activity import ActivityItem
from jobs.reads.runs import RunDetail

LONGEST_VALUE = 2000


def run_lines(run: RunDetail) -> list[str]:
    """Return everything that is known of a run but its log and what it printed."""
    lines = labelled(_facts(run))
    if run.error:
        lines += ["", "error", *plain(run.error).splitlines()]
    return lines


def log_line(line: ActivityItem) -> str:
    """Return a line of the log stream: time, level, source, run, message."""
    run = f"run {line.run_id}" if line.run_id else "-"
    parts = (
        f"{line.at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}",
        pad(line.level, 7),
        pad(line.source, 8),
        pad(line.job_id or "-", 20),
        pad(run, 12),
        one_line(line.message),
    )
    return "  ".join(parts)


def run_log_line(line: ActivityItem) -> str:
    """Return a line of one run's log: time, level, message."""
    at = f"{line.at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"
    return f"{at}  {pad(line.level, 7)}  {one_line(line.message)}"


def _facts(run: RunDetail) -> list[tuple[str, object]]:
    now = run.read_at
    return [
        ("run", run.id),
        ("job", run.job_id),
        ("status", run.status),
        ("trigger", run.trigger),
        ("slot", when(run.scheduled_for, now=now)),
        ("slots", run.count if run.count > 1 else ""),
        ("asked by", run.requested_by),
        ("reason", run.reason),
        ("asked at", when(run.created_at, now=now) if run.requested_by else ""),
        ("cancel asked", when(run.cancel_requested_at, now=now)),
        ("started", when(run.started_at, now=now)),
        ("finished", when(run.finished_at, now=now)),
        ("took", took(run.seconds)),
        ("passes", run.passes if run.passes > 1 else ""),
        ("progress", progress_words(run)),
        ("worker", run.claimed_by),
        ("lease until", when(run.lease_expires_at, now=now)),
        ("summary", _value(run.output)),
        ("returned", _value(run.returned)),
        ("log lines", len(run.log.items) or ""),
        ("previous", run.previous_id),
        ("next", run.next_id),
        ("page", run.admin_url),
    ]


def _value(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)[:LONGEST_VALUE]
