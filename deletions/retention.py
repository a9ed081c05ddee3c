"""Which old deletions may be forgotten, and calls of the billing service."""

from __future__ import annotations

import datetime as dt

from django.db.models import Q

from deletions import conf
from deletions.models import BillingAudit, BucketDeletionJob, UserDeletion, UserDeletionStep
from jobs.pruning import Along, declare_expired, declare_target

declare_target(
    name="deletions.done",
    label="Done deletions of users",
    model=UserDeletion,
    age_column="done_at",
    rows=Q(status="done"),
    along=(Along(model=UserDeletionStep, column="deletion"),),
    help="The proof in deletions.jsonl stays: a restored backup is brought up to date by it.",
)
declare_target(
    name="deletions.buckets",
    label="Done deletions of buckets",
    model=BucketDeletionJob,
    age_column="done_at",
    rows=Q(status="done"),
)
declare_expired(
    name="deletions.billing_audit",
    label="Calls of the billing service",
    model=BillingAudit,
    age_column="at",
    after=lambda: dt.timedelta(days=conf.BILLING_AUDIT_DAYS.get()),
)
