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
from deletions.admin.states import BUCKET_STATES, PHASE_STATES
from deletions.buckets import verbs
from deletions.buckets.reads import (
    STATES,
    BucketDetail,
    BucketItem,
    bucket_item,
    bucket_rows,
    get_bucket,
)
from deletions.buckets.words import pace_words, percent, place_words, progress_words
from deletions.models import BucketDeletionJob, BucketStatus, UserDeletion
from deletions.reads import DEAD
from jobs.admin.actions_taken import actions_taken
from jobs.admin.filters import ConditionFilter
from jobs.admin.verbs import Verb
from jobs.markup import cut, state_mark
from jobs.reads.links import object_path

REQUEUED_FROM = (BucketStatus.ABANDONED, BucketStatus.FAILED, BucketStatus.CANCELLED)

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
    suits=lambda item: item.status not in (BucketStatus.DONE, BucketStatus.CANCELLED),
)


class BucketStateFilter(ConditionFilter):
    title = "status"
    parameter_name = "status"
    conditions = {name: (BUCKET_STATES[name].word, rows) for name, rows in STATES.items()}


@admin.register(BucketDeletionJob)
class BucketDeletionJobAdmin(RequestedAdmin):
    object_template = "deletions/admin/bucket.html"
    is_live = True
    empty_words = "No deletion of a bucket was requested yet."
    search_keys = {"bucket": "bucket_name"}
    verbs = (REQUEUE, CANCEL)
    verb_scopes = {DEAD: STATES[DEAD]}
    revive = (REQUEUE, DEAD, REQUEUE_ALL)
    list_filter = (BucketStateFilter,)
    list_display = ("number", "bucket", "state", "phase", "progress", "tries", "due", "asked")

    def read_rows(self) -> QuerySet[BucketDeletionJob]:
        return bucket_rows()

    def read_item(self, number: int) -> BucketDetail | None:
        return get_bucket(number)

    def changes_by_itself(self, item: BucketDetail) -> bool:
        return item.status not in (BucketStatus.DONE, BucketStatus.CANCELLED)

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        return self.may(request, REQUEUE.name)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return self.may(request, CANCEL.name)

    @admin.display(description="bucket")
    def bucket(self, row: Any) -> str:
        return cut(place_words(bucket_item(row)), 60)

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        return state_mark(BUCKET_STATES[bucket_item(row).state])

    @admin.display(description="progress")
    def progress(self, row: Any) -> SafeString:
        return progress_bar(bucket_item(row))

    @admin.display(description="attempts")
    def tries(self, row: Any) -> str:
        return f"{row.attempts} of {bucket_item(row).max_attempts}" if row.attempts else ""

    def sample_words(self, row: BucketDeletionJob) -> str:
        """Return the line of a job on a verb's page."""
        return cut(f"{row.pk} · {row.bucket_name} {row.prefix} · {row.status}", 120)

    def object_context(self, request: HttpRequest, item: BucketDetail) -> Mapping[str, Any]:
        user = item.user_deletion_id
        return {
            **super().object_context(request, item),
            "title": f"Deletion {item.id} of bucket {place_words(item)}",
            "state": BUCKET_STATES[item.state],
            "bar": progress_bar(item),
            "phases": [(phase, PHASE_STATES[phase.state]) for phase in item.phases],
            "user_path": object_path(UserDeletion, user) if user is not None else "",
            **actions_taken(BucketDeletionJob, item.id),
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
