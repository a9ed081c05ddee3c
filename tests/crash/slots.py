"""What tests of slots share: cadences, rows that are moved, and the account of all slots."""

from __future__ import annotations

import datetime as dt
from collections import Counter

from django.db.models import F

from jobs.cadence import Cron, Every
from jobs.models import JobRun, JobState
from tests.testapp.models import Delivery


def far_from_now() -> str:
    """Return an hourly cron expression whose slots are half an hour away."""
    minute = (dt.datetime.now(dt.UTC).minute + 30) % 60
    return f"{minute} * * * * UTC"


def anchored(*job_ids: str) -> bool:
    """Say whether workers have taken up the jobs."""
    known = JobState.objects.filter(pk__in=job_ids, next_due_at__isnull=False)
    return known.count() == len(job_ids)


def move_back(delta: dt.timedelta, *job_ids: str) -> None:
    """Let a time pass for jobs, by moving what is written of them."""
    JobState.objects.filter(pk__in=job_ids).update(
        accounted_until=F("accounted_until") - delta, next_due_at=F("next_due_at") - delta
    )


def deliveries(job_id: str) -> Counter[int]:
    """Return how often the work of each slot was done, by the slot's seconds since 1970."""
    return Counter(Delivery.objects.filter(queue=job_id).values_list("row_id", flat=True))


def statuses(job_id: str) -> list[str]:
    """Return the statuses of a job's runs, in the order of their slots."""
    runs = JobRun.objects.filter(job_id=job_id).order_by("scheduled_for")
    return list(runs.values_list("status", flat=True))


def accounted_slots(cadence: Cron | Every, job_id: str) -> Counter[dt.datetime]:
    """Return how often each slot is accounted for, from the ledger's rows and their counts."""
    slots: Counter[dt.datetime] = Counter()
    for run in JobRun.objects.filter(job_id=job_id):
        assert run.scheduled_for
        if run.count == 1:
            slots[run.scheduled_for] += 1
            continue
        first = dt.datetime.fromisoformat(run.output["first"])
        span = list(cadence.slots_between(first - dt.timedelta.resolution, run.scheduled_for))
        assert len(span) == run.count
        slots.update(span)
    return slots
