"""Pieces of HTML that all pages of the console have in common."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.models.activity import LogLevel
from jobs.models.run import RunStatus
from jobs.reads.alerts import AlertItem
from jobs.reads.runs import RunItem
from jobs.reads.words import duration_words, instant_words, relative_words
from jobs.reads.workers import WorkerItem

NOTHING = "—"


@dataclass(frozen=True, kw_only=True)
class State:
    """A state as a shape and a word; the tone only repeats what they say."""

    shape: str
    tone: str  # good, warn, bad, busy, quiet
    word: str


RUN_STATES: Mapping[str, State] = {
    RunStatus.REQUESTED: State(shape="○", tone="quiet", word="requested"),
    RunStatus.RUNNING: State(shape="◐", tone="busy", word="running"),
    RunStatus.SUCCEEDED: State(shape="●", tone="good", word="succeeded"),
    RunStatus.FAILED: State(shape="■", tone="bad", word="failed"),
    RunStatus.SKIPPED: State(shape="—", tone="quiet", word="skipped"),
    RunStatus.MISSED: State(shape="▲", tone="warn", word="missed"),
    RunStatus.LOST: State(shape="■", tone="bad", word="lost"),
    RunStatus.INTERRUPTED: State(shape="▲", tone="warn", word="interrupted"),
    RunStatus.CANCELLED: State(shape="—", tone="quiet", word="cancelled"),
}
LEVEL_STATES: Mapping[str, State] = {
    LogLevel.DEBUG: State(shape="○", tone="quiet", word="debug"),
    LogLevel.INFO: State(shape="●", tone="quiet", word="info"),
    LogLevel.WARNING: State(shape="▲", tone="warn", word="warning"),
    LogLevel.ERROR: State(shape="■", tone="bad", word="error"),
}


def run_state(run: RunItem) -> State:
    """Return the state of a run."""
    return run_state_of(run.status)


def run_state_of(status: str) -> State:
    """Return a status of the ledger as a state."""
    return RUN_STATES[status]


def alert_state(alert: AlertItem) -> State:
    """Return the state of an alert."""
    if alert.resolved_at is not None:
        return State(shape="●", tone="quiet", word="resolved")
    if alert.is_acknowledged:
        return State(shape="▲", tone="warn", word="acknowledged")
    return State(shape="■", tone="bad", word="open")


def worker_state(worker: WorkerItem) -> State:
    """Return the state of a worker, by its last heartbeat."""
    if worker.stopped_at is not None:
        return State(shape="—", tone="quiet", word="stopped")
    if not worker.is_alive:
        silence = (worker.read_at - worker.heartbeat_at).total_seconds()
        return State(shape="■", tone="bad", word=f"silent for {duration_words(silence)}")
    if worker.draining:
        return State(shape="▲", tone="warn", word="draining")
    return State(shape="●", tone="good", word="alive")


def state_mark(state: State, *, title: str = "") -> SafeString:
    """Draw a state; ``title`` says more of it."""
    return format_html(
        '<span class="console-state console-{}"{}><span aria-hidden="true">{}</span> {}</span>',
        state.tone,
        format_html(' title="{}"', title) if title else "",
        state.shape,
        state.word,
    )


def time_tag(at: dt.datetime | None, *, now: dt.datetime) -> SafeString:
    """Draw an instant, absolute and relative; a dash for none."""
    if at is None:
        return SafeString(NOTHING)
    return format_html(
        '<time datetime="{}"><span>{}</span><span class="console-dot"> · </span>'
        '<span class="console-quiet">{}</span></time>',
        at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z"),
        instant_words(at, now=now),
        relative_words(at, now=now),
    )


def took(seconds: float | None) -> str:
    """Return a duration in words; a dash for none."""
    return NOTHING if seconds is None else duration_words(seconds)


def link(path: str, text: object) -> SafeString | str:
    """Draw a link; only the text where there is no address."""
    return format_html('<a href="{}">{}</a>', path, text) if path else str(text)


def cut(text: str, length: int) -> str:
    """Return the text on one line, cut to a length that a cell can bear."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder)
