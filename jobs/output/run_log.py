"""What a run logged and printed, once or while it goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from jobs.models import JobRun
from jobs.output.command import ConsoleCommand, Options
from jobs.output.run_page import run_log_line
from jobs.output.text import plain
from jobs.output.waiting import GOING_ON, look_at
from jobs.output.words import outcome_words
from jobs.reads.activity import list_activity
from jobs.reads.activity_search import ActivityFollower, ActivityQuery
from jobs.reads.bounded import bounded
from jobs.reads.runs import RunDetail

LOOK_SECONDS = 1.0
COMPARED = 400


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """What a run printed: the last 64 KB."""

    id: int
    job_id: str
    status: str
    stdout: str
    admin_url: str


def show_log(console: ConsoleCommand, run: RunDetail, options: Options) -> None:
    """Print what the run logged, oldest first; as JSON newest first, as every list is."""
    with bounded():
        page = list_activity(run_id=run.id, limit=options["limit"], before_id=options["before"])
    if options["json"]:
        console.emit(page)
        return
    if page.next_before_id is not None:
        console.notice(f"There are older lines: --before {page.next_before_id}")
    for line in reversed(page.items):
        console.stdout.write(run_log_line(line))
    if options["follow"]:
        follower = ActivityFollower(query=ActivityQuery(run_id=run.id))
        follower.begin(page.items)
        with contextlib.suppress(KeyboardInterrupt):
            _follow_log(console, run.id, follower)
    _show_outcome(console, run.id)


def show_output(console: ConsoleCommand, run: RunDetail, options: Options) -> None:
    """Print what the run printed."""
    if options["json"]:
        console.emit(
            RunOutput(
                id=run.id,
                job_id=run.job_id,
                status=run.status,
                stdout=run.stdout,
                admin_url=run.admin_url,
            )
        )
        return
    _write(console, run.stdout)
    if options["follow"]:
        with contextlib.suppress(KeyboardInterrupt):
            _follow_output(console, run)
    _show_outcome(console, run.id)


def news_of(shown: str, found: str) -> str:
    """Return what is new of a text of which only the last 64 KB are kept. A pure function."""
    if found.startswith(shown):
        return found[len(shown) :]
    known = shown[-COMPARED:]
    at = found.rfind(known)
    return found[at + len(known) :] if at >= 0 else found


def _follow_log(console: ConsoleCommand, run_id: int, follower: ActivityFollower) -> None:
    for _ in _looks(run_id):
        with bounded():
            lines = follower.look()
        for line in lines:
            console.say(run_log_line(line))


def _follow_output(console: ConsoleCommand, run: RunDetail) -> None:
    shown = run.stdout
    printed = JobRun.objects.filter(pk=run.id).values_list("stdout", flat=True)
    for _ in _looks(run.id):
        with bounded():
            found = printed.first() or ""
        _write(console, news_of(shown, found))
        shown = found


def _looks(run_id: int) -> Iterator[None]:
    """Yield at each look, and once more after the run's end: its last words come with it."""
    while True:
        going_on = look_at(run_id).status in GOING_ON
        yield
        if not going_on:
            return
        time.sleep(LOOK_SECONDS)


def _write(console: ConsoleCommand, text: str) -> None:
    # A file gets what was printed, byte for byte; a terminal nothing that it would obey.
    shown = plain(text) if console.stdout.isatty() else text
    console.stdout.write(shown, ending="")
    console.stdout.flush()


def _show_outcome(console: ConsoleCommand, run_id: int) -> None:
    console.notice(outcome_words(look_at(run_id)))
