"""
The last runs of a job as a strip of bars, the oldest on the left.

Height is how long a run took, against the 95th percentile of the strip. The form says what
became of it: a whole bar succeeded, one with a cap failed, a hollow one has not ended or was
ended from outside, a line on the ground did not work at all, and a slot without a run is a
gap. A dot beneath marks a run by hand.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from jobs.models.run import RunStatus
from jobs.reads.job_history import STRIP_RUNS, StripRun
from jobs.reads.words import duration_words, time_words

STEP, BAR = 6, 4
GROUND, LOWEST, HIGHEST = 25, 3, 18
WIDTH, HEIGHT = STRIP_RUNS * STEP, 31
CAPPED = frozenset({RunStatus.FAILED, RunStatus.LOST})
FLAT = frozenset({RunStatus.SKIPPED, RunStatus.CANCELLED, RunStatus.REQUESTED})


def strip(runs: Sequence[StripRun], *, now: dt.datetime) -> SafeString:
    """Draw the last runs, newest first as they are read; a line of words says them all."""
    shown = runs[:STRIP_RUNS][::-1]
    if not shown:
        return SafeString("")
    usual = percentile_95([run.seconds for run in shown if run.seconds is not None])
    # The newest is always at the right end.
    first = STRIP_RUNS - len(shown)
    marks = format_html_join(
        "",
        '<g class="console-run-{}"><title>{}</title>{}</g>',
        (
            (run.status, run_words(run, now=now), _mark(run, (first + place) * STEP, usual))
            for place, run in enumerate(shown)
        ),
    )
    return format_html(
        '<svg class="console-strip" role="img" aria-label="{}" width="{}" height="{}" '
        'viewBox="0 0 {} {}">{}</svg>',
        strip_words(shown),
        WIDTH,
        HEIGHT,
        WIDTH,
        HEIGHT,
        marks,
    )


def strip_words(runs: Sequence[StripRun]) -> str:
    """Return the strip for somebody who does not see it: how many of each, and the newest."""
    counted: dict[str, int] = {}
    for run in runs:
        counted[run.status] = counted.get(run.status, 0) + 1
    parts = [f"{number} {status}" for status, number in sorted(counted.items())]
    by_hand = sum(run.is_manual for run in runs)
    if by_hand:
        parts.append(f"{by_hand} by hand")
    noun = "run" if len(runs) == 1 else "runs"
    return f"The last {len(runs)} {noun}: {', '.join(parts)}; the newest {runs[-1].status}"


def run_words(run: StripRun, *, now: dt.datetime) -> str:
    """Return a bar in words: ``run 17 failed in 0.4 s, by hand · 02:00:04 UTC · 3 min ago``."""
    words = f"run {run.id} {run.status}"
    if run.count > 1:
        words = f"{run.count} slots {run.status}"
    if run.seconds is not None:
        words += f" in {duration_words(run.seconds)}"
    if run.passes > 1:
        words += f", {run.passes} passes"
    if run.is_manual:
        words += ", by hand"
    at = run.started_at or run.scheduled_for
    return f"{words} · {time_words(at, now=now)}" if at else words


def percentile_95(values: Sequence[float]) -> float:
    """Return the value that 95 in 100 do not pass; 0 for none."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * 95 // 100) - 1)]


def bar_height(seconds: float | None, usual: float) -> int:
    """Return the height of a bar in pixels; one that took longer than usual is cut off."""
    if seconds is None or usual <= 0:
        return LOWEST
    return LOWEST + round((HIGHEST - LOWEST) * min(seconds / usual, 1.0))


def _mark(run: StripRun, x: int, usual: float) -> SafeString:
    dot = SafeString("")
    if run.is_manual:
        dot = format_html('<circle cx="{}" cy="29" r="1.8"/>', x + BAR / 2)
    return format_html("{}{}", _shape(run, x, usual), dot)


def _shape(run: StripRun, x: int, usual: float) -> SafeString:
    if run.status == RunStatus.MISSED:
        # Nothing stands there; the area only carries the title.
        return format_html(
            '<rect class="console-gap" x="{}" y="7" width="{}" height="{}"/>', x, BAR, HIGHEST
        )
    if run.status in FLAT:
        return format_html('<rect x="{}" y="{}" width="{}" height="2"/>', x, GROUND - 2, BAR)
    height = bar_height(run.seconds, usual)
    bar = format_html(
        '<rect x="{}" y="{}" width="{}" height="{}"/>', x, GROUND - height, BAR, height
    )
    if run.status not in CAPPED:
        return bar
    return format_html('{}<rect x="{}" y="0" width="{}" height="5"/>', bar, x, BAR)
