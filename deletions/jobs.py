"""The jobs of deletions."""

from __future__ import annotations

from django.db.models import Sum

from deletions import conf
from deletions.buckets.policy import bucket_policy
from deletions.buckets.work import BucketWork
from deletions.models import (
    BucketDeletionJob,
    DeletionStatus,
    UserDeletion,
    UserDeletionStep,
)
from deletions.policy import deletion_policy
from deletions.users import DeletionWork
from jobs.alerts.movement import declare_progress
from jobs.cadence import Every
from jobs.context import RunContext
from jobs.declarations import job
from jobs.models.activity import LogSource
from jobs.workers.queue_pass import QueuePass, queue_threads


@job(
    "deletions.users",
    cadence=lambda: Every(ms=conf.POLL_MS.get()),
    summary="Delete users, half by half.",
    policy=deletion_policy,
    singleton=False,
    config_page="admin:deletions_userdeletion_changelist",
)
def run_once(context: RunContext) -> None:
    policy = deletion_policy()
    QueuePass(context, policy, DeletionWork(context), queue_threads.of(policy)).run()


@job(
    "deletions.buckets",
    cadence=lambda: Every(ms=conf.BUCKET_POLL_MS.get()),
    summary="Empty and remove buckets, so many at a time over all processes.",
    policy=bucket_policy,
    singleton=False,
    log_source=LogSource.STORAGE,
    config_page="admin:deletions_bucketdeletionjob_changelist",
)
def delete_buckets(context: RunContext) -> None:
    policy = bucket_policy()
    QueuePass(context, policy, BucketWork(context), queue_threads.of(policy)).run()


def progress() -> list[int]:
    """Return what moves while deletions are in work: rows deleted, steps done."""
    rows = UserDeletion.objects.filter(status=DeletionStatus.PROCESSING)
    deleted = rows.aggregate(total=Sum("rows_deleted"))["total"] or 0
    steps = UserDeletionStep.objects.filter(deletion__status=DeletionStatus.PROCESSING)
    return [deleted, steps.filter(done_at__isnull=False).count()]


def bucket_progress() -> list[int]:
    """Return what moves while buckets are in work: keys deleted, keys looked at."""
    rows = BucketDeletionJob.objects.filter(status=DeletionStatus.PROCESSING)
    found = rows.aggregate(deleted=Sum("deleted_objects"), listed=Sum("listed_objects"))
    return [found["deleted"] or 0, found["listed"] or 0]


declare_progress(UserDeletion._meta.db_table, progress)
declare_progress(BucketDeletionJob._meta.db_table, bucket_progress)
