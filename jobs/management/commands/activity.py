"""The log stream: ``manage.py activity``."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from argparse import ArgumentParser

from jobs.models.activity import LogLevel, LogSource
from jobs.output.command import ConsoleCommand, Options
from jobs.output.errors import EmptyWindowError
from jobs.output.options import add_paging, instant_before, moment, row_id
from jobs.output.run_page import log_line
from jobs.output.tables import Column
from jobs.output.words import when
from jobs.reads.activity import ActivityItem
from jobs.reads.activity_search import ActivityFollower, ActivityQuery, search_activity
from jobs.reads.bounded import bounded

WINDOW = dt.timedelta(hours=24)
LOOK_SECONDS = 1.0
TABLE = (
    Column(title="line"),
    Column(title="time"),
    Column(title="level", is_state=True),
    Column(title="source"),
    Column(title="job"),
    Column(title="run"),
    Column(title="message", shrinks=True),
    Column(title="page", optional=True),
)


class Command(ConsoleCommand):
    help = "Read the log stream of the background work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        tail = commands.add("tail", show_tail, "the last lines, oldest first")
        tail.add_argument("--follow", action="store_true", help="and what comes, until Ctrl-C")
        search = commands.add("search", show_found, "lines of a time window, newest first")
        search.add_argument("text", nargs="?", default="", help="contained in the message")
        search.add_argument("--until", type=moment, metavar="1h|TIME", help="end of the window")
        for command in (tail, search):
            command.add_argument("--source", default="", choices=LogSource.values)
            command.add_argument("--level", default="", choices=LogLevel.values)
            command.add_argument("--job", default="", metavar="ID")
            command.add_argument("--run", type=row_id, metavar="RUN")
            command.add_argument(
                "--since", type=moment, default=WINDOW, metavar="7d|TIME", help="default 24h"
            )
            add_paging(command)


def show_tail(console: ConsoleCommand, options: Options) -> None:
    """Print the last lines, and with ``--follow`` what comes."""
    query = _query(options)
    with bounded():
        page = search_activity(
            query,
            since=instant_before(options["since"]),
            limit=options["limit"],
            before_id=options["before"],
        )
    if options["json"] and not options["follow"]:
        console.emit(page)
        return
    _print(console, tuple(reversed(page.items)), options)
    if options["follow"]:
        follower = ActivityFollower(query=query)
        follower.begin(page.items)
        with contextlib.suppress(KeyboardInterrupt):
            _follow(console, follower, options)
    elif not page.items:
        console.notice("There are no such lines.")


def show_found(console: ConsoleCommand, options: Options) -> None:
    """Print a page of the lines that were looked for."""
    since = instant_before(options["since"])
    until = None if options["until"] is None else instant_before(options["until"])
    if until is not None and until <= since:
        raise EmptyWindowError(since, until)
    with bounded():
        page = search_activity(
            _query(options),
            since=since,
            until=until,
            text=options["text"],
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE, _row, nothing="There are no such lines.")


def _query(options: Options) -> ActivityQuery:
    return ActivityQuery(
        source=options["source"],
        level=options["level"],
        job_id=options["job"],
        run_id=options["run"],
    )


def _follow(console: ConsoleCommand, follower: ActivityFollower, options: Options) -> None:
    while True:
        with bounded():
            lines = follower.look()
        _print(console, lines, options)
        if not lines:
            time.sleep(LOOK_SECONDS)


def _print(console: ConsoleCommand, lines: tuple[ActivityItem, ...], options: Options) -> None:
    for line in lines:
        if options["json"]:  # one object per line: a stream has no end
            console.emit(line)
        else:
            console.stdout.write(log_line(line))
    console.stdout.flush()


def _row(line: ActivityItem) -> tuple[object, ...]:
    return (
        line.id,
        when(line.at, now=line.read_at),
        line.level,
        line.source,
        line.job_id,
        line.run_id,
        line.message,
        line.admin_url,
    )
