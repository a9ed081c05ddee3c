"""Look at bucket deletions and requeue them: ``manage.py buckets``."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser
from dataclasses import dataclass

from deletions.buckets import verbs
from deletions.buckets.errors import UnknownBucketJobError
from deletions.buckets.reads import (
    STATES,
    BucketItem,
    bucket_item,
    bucket_rows,
    get_bucket,
    list_buckets,
)
from deletions.buckets.words import TABLE, detail_lines, table_row
from deletions.models import BucketDeletionJob, BucketStatus
from jobs.audit import Outcome, Refusal
from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.errors import UsageError
from jobs.output.options import add_actor, add_paging, parse_id, row_id
from jobs.reads.bounded import bounded
from jobs.verbs.actors import as_user

NAMES_KNOWN = 1000


class WhichBucketsError(UsageError):
    """Neither ids nor --all, or both."""

    def __init__(self) -> None:
        super().__init__("Say which: ids, or --all for all that are abandoned; one of these.")


@dataclass(frozen=True, kw_only=True)
class Requeued:
    """What was requeued, or would be, and what was left alone."""

    items: tuple[BucketItem, ...]
    refused: tuple[Refusal, ...]
    dry_run: bool


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
    rows = bucket_rows().filter(pk__in=outcome.changed).order_by("-pk")
    answer = Requeued(
        items=tuple(bucket_item(row) for row in rows),
        refused=outcome.refused,
        dry_run=options["dry_run"],
    )
    _show(console, answer, options)
    if answer.refused:
        console.leave(EXIT_PROBLEM)


def _requeue(ids: list[int], options: Options) -> Outcome:
    actor = as_user(command_actor(options["user"]))
    return verbs.requeue(ids, actor=actor, via=Via.COMMAND, reason=options["reason"])


def _preview(ids: list[int]) -> Outcome:
    changed = sorted(verbs.requeuable().filter(pk__in=ids).values_list("pk", flat=True))
    left = set(ids) - set(changed)
    refused = verbs.refusals(left, words=verbs.REQUEUE_WORDS)
    return Outcome(changed=tuple(changed), refused=refused)


def _show(console: ConsoleCommand, answer: Requeued, options: Options) -> None:
    if options["json"]:
        console.emit(answer)
    else:
        rows = [table_row(item) for item in answer.items]
        console.show_table(TABLE, rows, nothing="" if answer.refused else "None is abandoned.")
        if answer.items:
            done = "would be requeued" if answer.dry_run else "requeued: due now"
            console.notice(f"{len(answer.items)} {done}.")
    for refusal in answer.refused:
        console.notice(f"Bucket deletion {refusal.id} {refusal.why}.")


def _abandoned() -> list[int]:
    rows = BucketDeletionJob.objects.filter(status=BucketStatus.ABANDONED)
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
