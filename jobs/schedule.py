"""
Firing the slots of singletons: one run per slot over all replicas, without a leader.

The job's row in ``job_states`` is locked while its due slots are worked out; the run, the
slots that do not run and the next due commit together, before the work starts. A unique
constraint on job and slot stands behind it.
"""

from __future__ import annotations

import datetime as dt
import logging
import uuid
from collections.abc import Iterable
from typing import Any

from django.db import connection

from jobs import conf
from jobs.clock import ClockTime, Now, from_now
from jobs.declarations import JobDeclaration
from jobs.identity import process_name
from jobs.ledger import OpenRun, open_runs
from jobs.models import JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.slots import DueSlot, PassedSlots, SlotFate, SlotPlan, plan_slots
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)


def anchor(declaration: JobDeclaration) -> None:
    """
    Give a job its row, and its next due from now on if it is new or its cadence changed.

    A job just declared, or whose cadence was edited, never runs slots of the past.
    """
    cadence = declaration.cadence
    with short_transaction("default"):
        now = database_now()
        JobState.objects.bulk_create([JobState(job_id=declaration.id)], ignore_conflicts=True)
        JobState.objects.filter(pk=declaration.id).exclude(cadence=repr(cadence)).update(
            cadence=repr(cadence), accounted_until=now, next_due_at=cadence.next_after(now)
        )


def due_jobs(job_ids: Iterable[str]) -> list[str]:
    """Return which of the jobs have a due slot, the longest due first."""
    due = JobState.objects.filter(
        pk__in=list(job_ids), next_due_at__lte=Now(), paused_at__isnull=True
    )
    return list(due.order_by("next_due_at").values_list("pk", flat=True))


def fire(declaration: JobDeclaration) -> OpenRun | None:
    """
    Account for every due slot of a job; return the run that begins now, if one does.

    Further slots that are to run wait as requests, in order. While a run of the job is
    going on, its slots are recorded as skipped. A worker whose code has another cadence
    than the job's row leaves the slots to those that have the same.
    """
    cadence = declaration.cadence
    due = {"cadence": repr(cadence), "next_due_at__lte": Now(), "paused_at__isnull": True}
    with short_transaction("default"):
        state = (
            JobState.objects.select_for_update(skip_locked=True)
            .filter(pk=declaration.id, **due)
            .first()
        )
        if state is None or state.accounted_until is None:
            return None  # another worker was first
        plan = plan_slots(
            cadence,
            after=state.accounted_until,
            now=database_now(),
            missed=declaration.missed,
        )
        run = _record(declaration.id, plan)
        JobState.objects.filter(pk=declaration.id).update(
            accounted_until=plan.accounted_until, next_due_at=plan.next_due
        )
    if run is not None:
        open_runs.add(run)
    return run


def database_now() -> dt.datetime:
    """Return the database's clock."""
    rows = JobRun.objects.none().query.get_compiler("default")
    text, parameters = rows.compile(Now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT " + text, parameters)
        found: dt.datetime = cursor.fetchone()[0]
    return found


def _record(job_id: str, plan: SlotPlan) -> OpenRun | None:
    JobRun.objects.bulk_create([_passed(job_id, passed) for passed in plan.passed])
    if not plan.runs:
        return None
    if is_going_on(job_id):
        JobRun.objects.bulk_create([_skipped(job_id, due) for due in plan.runs])
        return None
    first, *others = plan.runs
    run = _begin(job_id, first)
    JobRun.objects.bulk_create([_waiting(job_id, due) for due in others])
    return run


def is_going_on(job_id: str) -> bool:
    """Say whether a run of the job is held by a living worker, or waits its turn to catch up."""
    runs = JobRun.objects.filter(job_id=job_id)
    running = runs.filter(status=RunStatus.RUNNING, lease_expires_at__gt=Now())
    waiting = runs.filter(status=RunStatus.REQUESTED, scheduled_for__isnull=False)
    return running.exists() or waiting.exists()


def _begin(job_id: str, due: DueSlot) -> OpenRun:
    token, trigger = uuid.uuid4(), Trigger(due.trigger.value)
    row = JobRun.objects.create(
        job_id=job_id, scheduled_for=due.slot, trigger=trigger, **held(token)
    )
    return OpenRun(id=row.pk, job_id=job_id, token=token, trigger=trigger)


def held(token: uuid.UUID) -> dict[str, Any]:
    """Return the columns of a run that this process holds from now on."""
    return {
        "status": RunStatus.RUNNING,
        "started_at": ClockTime(),
        "claimed_by": process_name(),
        "claim_token": token,
        "lease_expires_at": from_now(conf.JOB_LEASE_MS.get()),
    }


def _waiting(job_id: str, due: DueSlot) -> JobRun:
    return JobRun(
        job_id=job_id,
        scheduled_for=due.slot,
        trigger=Trigger(due.trigger.value),
        status=RunStatus.REQUESTED,
    )


def _skipped(job_id: str, due: DueSlot) -> JobRun:
    return JobRun(
        job_id=job_id,
        scheduled_for=due.slot,
        trigger=Trigger(due.trigger.value),
        status=RunStatus.SKIPPED,
        finished_at=ClockTime(),
        error="The run before was still going on.",
    )


def _passed(job_id: str, passed: PassedSlots) -> JobRun:
    reason = {
        SlotFate.MISSED: "No worker was there in time.",
        SlotFate.COALESCED: "A later slot runs in their place.",
    }[passed.fate]
    return JobRun(
        job_id=job_id,
        scheduled_for=passed.last,
        trigger=Trigger.CATCH_UP,
        status=RunStatus.MISSED,
        count=passed.count,
        finished_at=ClockTime(),
        error=reason,
        output={
            "fate": passed.fate.value,
            "slots": passed.count,
            "first": passed.first.isoformat(),
            "last": passed.last.isoformat(),
        },
    )
