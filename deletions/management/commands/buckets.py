"""Look at bucket deletions and requeue them: ``manage.py buckets``."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser

from deletions.buckets import verbs
from deletions.buckets.errors import UnknownBucketJobError
from deletions.buckets.reads import (
    bucket_item,
    bucket_rows,
    get_bucket,
    list_buckets,
)
from deletions.buckets.words import TABLE, detail_lines, table_row
from deletions.models import BucketDeletionJob, DeletionStatus
from deletions.standing import STATES
from jobs.audit import Outcome
from jobs.models.audit import Via
from jobs.output.acted import Telling, show_acted
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.errors import UsageError
from jobs.output.options import add_actor, add_paging, parse_id, row_id
from jobs.reads.bounded import bounded
from jobs.verbs.actors import as_user

NAMES_KNOWN = 1000
REQUEUED = Telling(
    rows=bucket_rows,
    to_item=bucket_item,
    columns=TABLE,
    to_row=table_row,
    nothing="None is abandoned.",
    done="requeued: due now",
    would="would be requeued",
    left=lambda refusal: f"Bucket deletion {refusal.id} {refusal.why}.",
)


class WhichBucketsError(UsageError):
    """Neither ids nor --all, or both."""

    def __init__(self) -> None:
        super().__init__("Say which: ids, or --all for all that are abandoned; one of these.")


class Command(ConsoleCommand):
    help = "Look at the deletions of buckets, and make them due again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        listed = commands.add("list", show_buckets, "bucket deletions, newest first")
        listed.add_argument("--state", default="", choices=[str(name) for name in STATES])
        listed.add_argument("--bucket", default="", metavar="NAME", help="of this bucket alone")
        add_paging(listed)
        shown = commands.add("show", show_bucket, "one with its phases and failed keys")
        shown.add_argument("bucket", metavar="ID|NAME", help="an id, or the newest of a bucket")
        words = "make abandoned, failed or cancelled ones due now, with no attempts counted"
        again = commands.add("requeue", requeue, words)
        again.add_argument("ids", nargs="*", type=row_id, metavar="ID")
        again.add_argument("--all", action="store_true", help="all that are abandoned")
        again.add_argument("--dry-run", action="store_true", help="change nothing")
        add_actor(again)


def show_buckets(console: ConsoleCommand, options: Options) -> None:
    """Print a page of bucket deletions."""
    with bounded():
        page = list_buckets(
            state=options["state"],
            bucket=options["bucket"],
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE, table_row, nothing="There is no such bucket deletion.")


def show_bucket(console: ConsoleCommand, options: Options) -> None:
    """Print one. Raises ``UnknownBucketJobError``."""
    with bounded():
        item = get_bucket(_id_of(options["bucket"]))
    if item is None:
        raise UnknownBucketJobError(options["bucket"], _nearest(options["bucket"]))
    console.show(item, options, lambda: detail_lines(item))


def requeue(console: ConsoleCommand, options: Options) -> None:
    """Requeue, and end with 1 if anything was refused."""
    if bool(options["ids"]) == options["all"]:
        raise WhichBucketsError
    ids = _abandoned() if options["all"] else options["ids"]
    outcome = _preview(ids) if options["dry_run"] else _requeue(ids, options)
    answer = REQUEUED.answer(outcome, dry_run=options["dry_run"])
    show_acted(console, answer, options, REQUEUED)


def _requeue(ids: list[int], options: Options) -> Outcome:
    actor = as_user(command_actor(options["user"]))
    return verbs.requeue(ids, actor=actor, via=Via.COMMAND, reason=options["reason"])


def _preview(ids: list[int]) -> Outcome:
    changed = sorted(verbs.requeuable().filter(pk__in=ids).values_list("pk", flat=True))
    left = set(ids) - set(changed)
    refused = verbs.why_left(left, words=verbs.REQUEUE_WORDS)
    return Outcome(changed=tuple(changed), refused=refused)


def _abandoned() -> list[int]:
    rows = BucketDeletionJob.objects.filter(status=DeletionStatus.ABANDONED)
    return list(rows.values_list("pk", flat=True))


def _id_of(text: str) -> int:
    """Return the id that is meant: a number, or the newest of a bucket's name."""
    number = parse_id(text)
    if number is not None and BucketDeletionJob.objects.filter(pk=number).exists():
        return number
    named = BucketDeletionJob.objects.filter(bucket_name=text).order_by("-pk")
    found = named.values_list("pk", flat=True).first()
    if found is None:
        raise UnknownBucketJobError(text, _nearest(text))
    return int(found)


def _nearest(text: str) -> str | None:
    newest = BucketDeletionJob.objects.order_by("-pk")[:NAMES_KNOWN]
    names = {name for row in newest for name in (str(row.pk), row.bucket_name)}
    return next(iter(difflib.get_close_matches(text, sorted(names), n=1)), None)
