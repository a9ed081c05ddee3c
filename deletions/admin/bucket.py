"""Bucket deletions: the list with progress, and the page of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from deletions.admin.requested import REQUEUE_ALL, RequestedAdmin
from deletions.admin.states import PHASE_STATES
from deletions.buckets import verbs
from deletions.buckets.reads import (
    BucketDetail,
    BucketItem,
    bucket_item,
    bucket_rows,
    get_bucket,
)
from deletions.buckets.words import pace_words, percent, place_words, progress_words
from deletions.models import BucketDeletionJob, DeletionStatus, UserDeletion
from deletions.standing import DEAD
from jobs.admin.verbs import Verb
from jobs.markup import cut
from jobs.reads.links import object_path

REQUEUED_FROM = (DeletionStatus.ABANDONED, DeletionStatus.FAILED, DeletionStatus.CANCELLED)

REQUEUE = Verb(
    name="requeue",
    title="Requeue",
    past="requeued",
    permission="deletions.requeue_bucketdeletionjob",
    explanation="Each becomes due now, with no attempts counted. What is deleted stays so.",
    eligible=verbs.REQUEUABLE,
    act=verbs.requeue,
    suits=lambda item: item.status in REQUEUED_FROM,
)
CANCEL = Verb(
    name="cancel",
    title="Cancel",
    past="cancelled",
    permission="deletions.cancel_bucketdeletionjob",
    explanation=(
        "No more of each bucket is deleted; what is deleted already stays so. A worker that is "
        "at it stops before its next batch."
    ),
    eligible=verbs.CANCELLABLE,
    act=verbs.cancel,
    suits=lambda item: item.status not in (DeletionStatus.DONE, DeletionStatus.CANCELLED),
)


@admin.register(BucketDeletionJob)
class BucketDeletionJobAdmin(RequestedAdmin):
    object_template = "deletions/admin/bucket.html"
    empty_words = "No deletion of a bucket was requested yet."
    search_keys = {"bucket": "bucket_name"}
    verbs = (REQUEUE, CANCEL)
    revive = (REQUEUE, DEAD, REQUEUE_ALL)
    list_display = ("number", "bucket", "state", "phase", "progress", "tries", "due", "asked")

    def read_rows(self) -> QuerySet[BucketDeletionJob]:
        return bucket_rows()

    def item(self, row: Any) -> BucketItem:
        return bucket_item(row)

    def read_item(self, number: int) -> BucketDetail | None:
        return get_bucket(number)

    def changes_by_itself(self, item: BucketDetail) -> bool:
        return item.status not in (DeletionStatus.DONE, DeletionStatus.CANCELLED)

    @admin.display(description="bucket")
    def bucket(self, row: Any) -> str:
        return cut(place_words(bucket_item(row)), 60)

    @admin.display(description="progress")
    def progress(self, row: Any) -> SafeString:
        return progress_bar(bucket_item(row))

    def sample_words(self, row: BucketDeletionJob) -> str:
        """Return the line of a job on a verb's page."""
        return cut(f"{row.pk} · {row.bucket_name} {row.prefix} · {row.status}", 120)

    def object_context(self, request: HttpRequest, item: BucketDetail) -> Mapping[str, Any]:
        user = item.user_deletion_id
        return {
            **super().object_context(request, item),
            "title": f"Deletion {item.id} of bucket {place_words(item)}",
            "bar": progress_bar(item),
            "phases": [(phase, PHASE_STATES[phase.state]) for phase in item.phases],
            "user_path": object_path(UserDeletion, user) if user is not None else "",
        }


def progress_bar(item: BucketItem) -> SafeString:
    """Draw how far a deletion is, with its pace; in words alone while it is not counted."""
    words = progress_words(item)
    pace = pace_words(item)
    text = f"{words} · {pace}" if pace else words
    if item.total_objects is None:
        return format_html('<span class="console-number">{}</span>', text)
    return format_html(
        '<span class="console-progress"><progress value="{}" max="100" aria-label="deleted">'
        '</progress> <span class="console-number">{}</span></span>',
        percent(item),
        text,
    )
