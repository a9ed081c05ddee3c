"""Starting abandoned deletions again: ``manage.py requeue_deletion``."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from deletions import verbs
from deletions.errors import UnknownDeletionError
from deletions.models import LIVE, DeletionStatus, UserDeletion
from deletions.reads import DeletionItem, deletion_item, deletion_rows
from deletions.words import TABLE, table_row
from jobs.audit import Outcome, Refusal
from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options, add_json
from jobs.output.errors import UsageError
from jobs.output.options import row_id
from jobs.verbs.actors import as_user

HINTS = 10


class OneSelectionError(UsageError):
    """None, or more than one, of the ways to say which deletions are meant."""

    def __init__(self) -> None:
        super().__init__("Say which: ids, or --user ID, or --all; one of these.")


@dataclass(frozen=True, kw_only=True)
class Requeued:
    """What was requeued, or would be, and what was left alone."""

    items: tuple[DeletionItem, ...]
    refused: tuple[Refusal, ...]
    dry_run: bool


class Command(ConsoleCommand):
    help = (
        "Make abandoned deletions due now, with no attempts counted. Steps that are done are "
        "not run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json(parser)
        parser.add_argument("ids", nargs="*", type=row_id, metavar="ID", help="deletions")
        parser.add_argument("--user", metavar="ID", help="the deletion of the user with this key")
        parser.add_argument("--all", action="store_true", help="all that are abandoned")
        parser.add_argument("--dry-run", action="store_true", help="change nothing")
        parser.add_argument("--reason", default="", metavar="TEXT", help="why; kept in the audit")
        parser.set_defaults(act=requeue)


def requeue(console: ConsoleCommand, options: Options) -> None:
    """Requeue, print the halves, and end with 1 if anything was refused."""
    ids = _chosen(options)
    outcome = _preview(ids) if options["dry_run"] else _requeue(ids, reason=options["reason"])
    rows = deletion_rows().filter(pk__in=outcome.changed).order_by("-pk")
    answer = Requeued(
        items=tuple(deletion_item(row) for row in rows),
        refused=outcome.refused,
        dry_run=options["dry_run"],
    )
    _show(console, answer, options)
    if answer.refused:
        console.leave(EXIT_PROBLEM)


def _requeue(ids: list[int], *, reason: str) -> Outcome:
    return verbs.requeue(ids, actor=as_user(command_actor(None)), via=Via.COMMAND, reason=reason)


def _preview(ids: list[int]) -> Outcome:
    rows = UserDeletion.objects.filter(verbs.REQUEUABLE, pk__in=ids)
    changed = sorted(rows.values_list("pk", flat=True))
    return Outcome(changed=tuple(changed), refused=verbs.refusals(set(ids) - set(changed)))


def _chosen(options: Options) -> list[int]:
    """Return the ids that are meant. Raises ``UnknownDeletionError``."""
    ways = [bool(options["ids"]), options["user"] is not None, options["all"]]
    if sum(ways) != 1:
        raise OneSelectionError
    if options["all"]:
        return list(UserDeletion.objects.filter(verbs.REQUEUABLE).values_list("pk", flat=True))
    if options["user"] is not None:
        return [_of_user(options["user"])]
    ids: list[int] = options["ids"]
    known = set(UserDeletion.objects.filter(pk__in=ids).values_list("pk", flat=True))
    for key in ids:
        if key not in known:
            raise UnknownDeletionError(f"id {key}", _abandoned())
    return ids


def _of_user(key: str) -> int:
    mine = UserDeletion.objects.filter(user_id=key).order_by("-pk").values_list("pk", flat=True)
    # The live one if there is one; else the newest, whose state is the answer.
    found = mine.filter(status__in=LIVE).first() or mine.first()
    if found is None:
        raise UnknownDeletionError(f"user {key}", _abandoned())
    return int(found)


def _abandoned() -> list[int]:
    rows = UserDeletion.objects.filter(status=DeletionStatus.ABANDONED, next_retry_at=None)
    return list(rows.order_by("-pk").values_list("pk", flat=True)[:HINTS])


def _show(console: ConsoleCommand, answer: Requeued, options: Options) -> None:
    if options["json"]:
        console.emit(answer)
    else:
        rows = [table_row(item) for item in answer.items]
        console.show_table(TABLE, rows, nothing="" if answer.refused else "None is abandoned.")
        if answer.items:
            done = "would be requeued" if answer.dry_run else "requeued: due now"
            console.notice(f"{len(answer.items)} {done}; steps that are done stay done.")
    for refusal in answer.refused:
        console.notice(f"Deletion {refusal.id} {refusal.why}: only abandoned ones are requeued.")
