"""The table that is printed and the file that is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

# A figure, what it is, its counterpart, and the aim that the two of them are held to.
LINES = (
    ("drain_1", "jobs/s, one process", "limit_1", "50 % of pgbench, or 30,000"),
    ("drain_2", "jobs/s, two processes", "limit_2", ""),
    ("pickup_ms_p50", "ms from commit to start, median", "notify_ms_p50", "8 times a bare NOTIFY"),
    ("pickup_ms_p99", "ms from commit to start, 99 of 100", "notify_ms_p50", ""),
    ("finished_1m_ratio", "rate beside a million finished rows", "", "0.90"),
    ("pending_1m_ratio", "rate before a million pending rows", "", "0.90"),
    ("old_snapshot_ratio", "rate under an old snapshot", "", "0.90"),
    ("bulk_enqueue_per_s", "rows/s, 1,000 at a time", "copy_1k_per_s", "28 % of COPY, or 60,000"),
    ("mail_per_s", "mails/s, each durable, 16 at a time", "smtplib_per_s", "90 % of smtplib"),
    ("mail_4_per_s", "mails/s, each durable, 4 at a time", "smtplib_4_per_s", "90 % of smtplib"),
    (
        "commit_to_client_ms_p50",
        "ms from commit to client, median",
        "notify_and_emit_ms_p50",
        "3 times a bare NOTIFY and a bare emit",
    ),
    ("commit_to_client_ms_p99", "ms from commit to client, 99 of 100", "", ""),
    ("events_1_per_s", "events/s to one client", "redis_1_per_s", "1 (its Redis manager)"),
    ("events_100_per_s", "events/s to each of 100 clients", "redis_100_per_s", "1"),
    ("sweep_rows_per_s", "old rows/s, swept", "raw_delete_rows_per_s", "60 % of one DELETE"),
    ("sweep_writer_p99_ms", "ms of a writer meanwhile, 99 of 100", "", "100"),
    ("bucket_objects_per_s", "objects/s deleted, counted before", "boto3_objects_per_s", "90 %"),
    ("idle_cpu_percent", "% of a core, idle", "", "1"),
    ("rss_mb", "MB resident, idle", "", "120"),
)


def table(figures: Mapping[str, float]) -> str:
    """Return the figures with their counterparts of the same run."""
    lines = [f"{'':36} {'figure':>10} {'beside':>10} {'ratio':>7}  aim"]
    for name, meaning, beside, aim in LINES:
        if name not in figures:
            continue
        counterpart = ratio = ""
        if beside in figures:
            counterpart = _shown(figures[beside])
            ratio = f"{figures[name] / figures[beside]:.2f}"
        lines.append(
            f"{meaning:36} {_shown(figures[name]):>10} {counterpart:>10} {ratio:>7}  {aim}"
        )
    return "\n".join(lines)


def write(figures: Mapping[str, float], path: Path) -> None:
    """Write the figures by their keys."""
    rounded = {name: round(value, 3) for name, value in figures.items()}
    path.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
