"""What was given up and what it leaves behind: ``manage.py abandoned_deletions``."""

from __future__ import annotations

from argparse import ArgumentParser

from deletions.reads import list_abandoned
from deletions.words import TABLE, table_row
from jobs.output.command import ConsoleCommand, Options, add_json
from jobs.output.options import add_paging
from jobs.reads.bounded import bounded


class Command(ConsoleCommand):
    help = "List the deletions that were given up: which half is done, and what is left behind."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json(parser)
        add_paging(parser)
        parser.set_defaults(act=show_abandoned)


def show_abandoned(console: ConsoleCommand, options: Options) -> None:
    """Print them, newest first."""
    with bounded():
        page = list_abandoned(limit=options["limit"], before_id=options["before"])
    console.show_page(page, options, TABLE, table_row, nothing="No deletion is abandoned.")
