"""Changing when a job runs, where that is data."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.audit import record
from jobs.cadence import Cron
from jobs.declarations import registry
from jobs.models import JobState
from jobs.models.audit import Via
from jobs.own_cadence import OwnCadence, set_cadence
from jobs.reads.links import admin_url
from jobs.transactions import short_transaction
from jobs.verbs.actors import Actor, as_user
from jobs.verbs.errors import FixedCadenceError
from jobs.verbs.targets import job_target, kept_reason
from jobs.verbs.verb import verb


@dataclass(frozen=True, kw_only=True)
class CadenceAnswer:
    """When a job runs from now on."""

    job_id: str
    expression: str
    zone: str
    changed: bool  # False: it was so before
    admin_url: str


@verb("schedule", permission="jobs.schedule_job")
def schedule_job(
    job_id: str, *, cadence: Cron | None, actor: Actor, via: Via, reason: str = ""
) -> CadenceAnswer:
    """
    Set when a job runs; None goes back to what it was declared with.

    Raises ``UnknownJobError``, or ``FixedCadenceError`` for a job whose cadence is not kept here.
    """
    declaration = registry.get(job_id)
    own = declaration.read_cadence
    if not isinstance(own, OwnCadence):
        raise FixedCadenceError(job_id)
    wanted = None if cadence == own.default else cadence
    with short_transaction("default"):
        before = JobState.objects.filter(pk=job_id).first()
        changed = set_cadence(declaration, wanted)
        now = wanted or own.default
        if changed:
            record(
                actor=as_user(actor),
                via=via,
                verb=schedule_job.name,
                target=job_target(job_id),
                reason=kept_reason(reason),
                detail={"from": _words(before, own.default), "to": f"{now.expression} {now.zone}"},
            )
    return CadenceAnswer(
        job_id=job_id,
        expression=now.expression,
        zone=now.zone,
        changed=changed,
        admin_url=admin_url(JobState, job_id),
    )


def _words(state: JobState | None, default: Cron) -> str:
    """Return what was set as it stands there: it may be what no schedule can keep."""
    if state is None or not state.own_cron:
        return f"{default.expression} {default.zone}"
    return f"{state.own_cron} {state.own_zone}"
