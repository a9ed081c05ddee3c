"""Look at upload reservations and release them: ``manage.py uploads``."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from jobs.audit import Refusal
from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.options import add_actor, add_paging, row_id
from jobs.reads.bounded import bounded
from jobs.verbs.actors import as_user
from retention.uploads import verbs
from retention.uploads.reads import STATES, UploadItem, list_uploads, upload_item, upload_rows
from retention.uploads.words import TABLE, table_row


@dataclass(frozen=True, kw_only=True)
class Released:
    """What nobody can finalise any more, and what was left alone."""

    items: tuple[UploadItem, ...]
    refused: tuple[Refusal, ...]


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
    rows = upload_rows().filter(pk__in=outcome.changed).order_by("-pk")
    answer = Released(items=tuple(upload_item(row) for row in rows), refused=outcome.refused)
    if options["json"]:
        console.emit(answer)
    else:
        shown = [table_row(item) for item in answer.items]
        console.show_table(TABLE, shown, nothing="" if answer.refused else "None is pending.")
    for refusal in answer.refused:
        console.notice(f"Upload reservation {refusal.id} {refusal.why}.")
    if answer.refused:
        console.leave(EXIT_PROBLEM)
