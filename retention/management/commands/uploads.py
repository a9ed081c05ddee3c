"""Look at upload reservations and release them: ``manage.py uploads``."""

from __future__ import annotations

from argparse import ArgumentParser

from jobs.models.audit import Via
from jobs.output.acted import Telling, show_acted
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.options import add_actor, add_paging, row_id
from jobs.reads.bounded import bounded
from jobs.verbs.actors import as_user
from retention.uploads import verbs
from retention.uploads.reads import STATES, list_uploads, upload_item, upload_rows
from retention.uploads.words import TABLE, table_row

RELEASED = Telling(
    rows=upload_rows,
    to_item=upload_item,
    columns=TABLE,
    to_row=table_row,
    nothing="None is pending.",
    done="released: the next run of retention.uploads removes them",
    left=lambda refusal: f"Upload reservation {refusal.id} {refusal.why}.",
)


class Command(ConsoleCommand):
    help = "Look at upload reservations, and release them before their time."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        listed = commands.add("list", show_uploads, "reservations and kept uploads, newest first")
        listed.add_argument("--state", default="", choices=[str(name) for name in STATES])
        listed.add_argument("--owner", default="", metavar="KEY", help="of this owner alone")
        add_paging(listed)
        words = "let nobody finalise these any more; retention.uploads removes them"
        released = commands.add("release", release_uploads, words)
        released.add_argument("ids", nargs="+", type=row_id, metavar="ID")
        add_actor(released)


def show_uploads(console: ConsoleCommand, options: Options) -> None:
    """Print a page of reservations."""
    with bounded():
        page = list_uploads(
            state=options["state"],
            owner=options["owner"],
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE, table_row, nothing="There is no such upload.")


def release_uploads(console: ConsoleCommand, options: Options) -> None:
    """Release, and end with 1 if anything was refused."""
    actor = as_user(command_actor(options["user"]))
    outcome = verbs.release(options["ids"], actor=actor, via=Via.COMMAND, reason=options["reason"])
    show_acted(console, RELEASED.answer(outcome), options, RELEASED)
