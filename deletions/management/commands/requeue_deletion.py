"""Starting abandoned deletions again: ``manage.py requeue_deletion``."""

from __future__ import annotations

from argparse import ArgumentParser

from deletions import verbs
from deletions.errors import UnknownDeletionError
from deletions.models import LIVE, DeletionStatus, UserDeletion
from deletions.reads import deletion_item, deletion_rows
from deletions.words import TABLE, table_row
from jobs.audit import Outcome
from jobs.models.audit import Via
from jobs.output.acted import Telling, show_acted
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options, add_json
from jobs.output.errors import UsageError
from jobs.output.options import row_id
from jobs.verbs.actors import as_user

HINTS = 10
REQUEUED = Telling(
    rows=deletion_rows,
    to_item=deletion_item,
    columns=TABLE,
    to_row=table_row,
    nothing="None is abandoned.",
    done="requeued: due now; steps that are done stay done",
    would="would be requeued; steps that are done stay done",
    left=lambda refusal: f"Deletion {refusal.id} {refusal.why}: only abandoned ones are requeued.",
)


class OneSelectionError(UsageError):
    """None, or more than one, of the ways to say which deletions are meant."""

    def __init__(self) -> None:
        super().__init__("Say which: ids, or --user ID, or --all; one of these.")


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
    answer = REQUEUED.answer(outcome, dry_run=options["dry_run"])
    show_acted(console, answer, options, REQUEUED)


def _requeue(ids: list[int], *, reason: str) -> Outcome:
    return verbs.requeue(ids, actor=as_user(command_actor(None)), via=Via.COMMAND, reason=reason)


def _preview(ids: list[int]) -> Outcome:
    rows = UserDeletion.objects.filter(verbs.REQUEUABLE, pk__in=ids)
    changed = sorted(rows.values_list("pk", flat=True))
    return Outcome(changed=tuple(changed), refused=verbs.why_left(set(ids) - set(changed)))


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
