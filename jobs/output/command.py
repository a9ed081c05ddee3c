"""The base of the console's commands."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError, OperationalError, ProgrammingError

from jobs.commands import EXIT_PROBLEM, EXIT_USAGE, EngineCommand
from jobs.errors import UnappliedMigrationsError
from jobs.failure import headline
from jobs.output.encoding import as_json
from jobs.output.errors import SlowStatementError, UnconfirmedError, UsageError
from jobs.output.tables import Column, table_lines
from jobs.output.text import one_line
from jobs.reads.paging import Page

Options = dict[str, Any]
Act = Callable[["ConsoleCommand", Options], None]
BAD = ("failing", "failed", "lost", "missed", "interrupted", "dead", "error", "open", "overdue")
DOUBTFUL = ("late", "warning", "cancelled", "skipped", "paused", "never", "draining", "polling")
GOOD = ("ok", "succeeded", "alive", "listening", "resolved")
# Of a statement that its time limit ended, or that waited too long for a lock.
TOO_SLOW = ("57014", "55P03")
# A table or a column that is not there.
OTHER_SCHEMA = ("42P01", "42703")


class Subcommands:
    """The subcommands of a command, each a function of the command and its options."""

    def __init__(self, parser: ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")

    def add(self, name: str, act: Act, words: str) -> ArgumentParser:
        """Add one; return its parser, for its own arguments."""
        parser = self._parsers.add_parser(name, help=words, description=words)
        parser.set_defaults(act=act)
        add_json(parser)
        # Also after the subcommand, where people write it.
        parser.add_argument(
            "--no-color", action="store_true", default=argparse.SUPPRESS, help="no colours"
        )
        return parser


class ConsoleCommand(EngineCommand):
    """
    A command that shows, or acts, as the console does.

    A closed pipe ends it quietly, as after ``| head``.
    """

    # What is wrong with a site must not be in the way of looking at it; manage.py check says it.
    requires_system_checks = ()

    def execute(self, *args: Any, **options: Any) -> str | None:
        if os.environ.get("NO_COLOR") and not options.get("force_color"):
            options["no_color"] = True
        _forgive_encoding()
        try:
            text = super().execute(*args, **options)
            self.stdout.flush()
        except BrokenPipeError:
            _close_stdout()
            return None
        except KeyboardInterrupt:
            raise CommandError("Interrupted.", returncode=EXIT_PROBLEM) from None
        except OperationalError as error:
            if _state_of(error) not in TOO_SLOW:
                raise
            slow = SlowStatementError(headline(error))
            raise CommandError(str(slow), returncode=EXIT_PROBLEM) from error
        except ProgrammingError as error:
            if _state_of(error) in OTHER_SCHEMA:
                _explain_schema(error)
            raise
        return text

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the chosen subcommand says."""
        act: Act = options["act"]
        try:
            act(self, options)
        except UsageError as error:
            raise CommandError(str(error), returncode=EXIT_USAGE) from error

    def subcommands(self, parser: ArgumentParser) -> Subcommands:
        """Let the command have subcommands, one of which must be given."""
        return Subcommands(parser)

    def emit(self, value: Any) -> None:
        """Print a value as one JSON object on one line."""
        self.stdout.write(as_json(value))

    def say(self, line: str) -> None:
        """Print one line of the result at once."""
        self.stdout.write(line)
        self.stdout.flush()

    def notice(self, line: str) -> None:
        """Tell a person something that is no part of the result."""
        self.stderr.write(line, style_func=str)
        self.stderr.flush()

    def show(self, value: Any, options: Options, to_lines: Callable[[], list[str]]) -> None:
        """Print a value as JSON, or in words."""
        if options["json"]:
            self.emit(value)
            return
        for line in to_lines():
            self.stdout.write(line)

    def show_table(
        self, columns: Sequence[Column], rows: Sequence[Sequence[object]], *, nothing: str = ""
    ) -> None:
        """Print a table; without rows say so, and print nothing."""
        if not rows:
            if nothing:
                self.notice(nothing)
            return
        for line in table_lines(columns, rows, width=self.width, paint=self._paint):
            self.stdout.write(line)

    def show_page(
        self,
        page: Page[Any],
        options: Options,
        columns: Sequence[Column],
        to_row: Callable[[Any], Sequence[object]],
        *,
        nothing: str,
    ) -> None:
        """Print a page as JSON or as a table, and say where the older items begin."""
        if options["json"]:
            self.emit(page)
            return
        self.show_table(columns, [to_row(item) for item in page.items], nothing=nothing)
        if page.next_before_id is not None:
            self.notice(f"There are older ones: --before {page.next_before_id}")

    @property
    def width(self) -> int | None:
        """How wide the terminal is; None where the output is not one, so that nothing is cut."""
        return shutil.get_terminal_size().columns if self.stdout.isatty() else None

    def confirm(self, what: str, options: Options) -> bool:
        """
        Ask whether to do it, unless ``--yes`` was said.

        Raises ``UnconfirmedError`` where nobody can be asked.
        """
        if options["yes"]:
            return True
        if not sys.stdin.isatty():
            raise UnconfirmedError(what)
        self.stderr.write(f"{what[:1].upper()}{what[1:]}? [y/N] ", style_func=str, ending="")
        self.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def _paint(self, word: str, text: str) -> str:
        if not self.stdout.isatty():
            return text
        first = one_line(word).partition(" ")[0]
        if first in BAD:
            return str(self.style.ERROR(text))
        if first in DOUBTFUL:
            return str(self.style.WARNING(text))
        return str(self.style.SUCCESS(text)) if first in GOOD else text


def add_json(parser: ArgumentParser) -> None:
    """Add what every subcommand has."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _state_of(error: DatabaseError) -> str:
    return getattr(error.__cause__, "sqlstate", None) or ""


def _explain_schema(error: DatabaseError) -> None:
    """Raise ``CommandError`` when the database is older than the code."""
    from jobs.management.commands.runworkers import refuse_unapplied_migrations

    try:
        refuse_unapplied_migrations()
    except UnappliedMigrationsError as unapplied:
        raise CommandError(str(unapplied), returncode=EXIT_PROBLEM) from error


def _forgive_encoding() -> None:
    # A terminal that cannot show "…" gets "?" and not a traceback.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _close_stdout() -> None:
    # The interpreter flushes at its end, and would complain of the pipe once more.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
