"""Running, pausing and resuming a job."""

from __future__ import annotations

from dataclasses import dataclass

from jobs import pausing
from jobs.audit import record
from jobs.declarations import registry
from jobs.models import JobRun, JobState
from jobs.models.audit import Via
from jobs.reads.links import admin_url
from jobs.requests import request_run
from jobs.transactions import short_transaction
from jobs.verbs.actors import Actor, as_user
from jobs.verbs.targets import job_target, kept_reason
from jobs.verbs.verb import verb


@dataclass(frozen=True, kw_only=True)
class RunAnswer:
    """The request that waits for a worker."""

    run_id: int
    job_id: str
    status: str
    coalesced: bool  # an earlier request waited already: this is that one
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class PauseAnswer:
    """How a job is after being paused or resumed."""

    job_id: str
    paused: bool
    changed: bool  # False: it was so before
    admin_url: str


@verb("run", permission="jobs.run_job")
def run_job(job_id: str, *, actor: Actor, via: Via, reason: str = "") -> RunAnswer:
    """
    Ask for a run by hand; a worker takes the request.

    Raises ``UnknownJobError``, or ``ManualRunRefusedError`` for a job that may not be forced.
    """
    why = kept_reason(reason)
    with short_transaction("default"):
        requested = request_run(job_id, requested_by=actor.get_username(), reason=why)
        if not requested.coalesced:
            _audit(run_job.name, job_id, actor, via, why, run_id=requested.run.pk)
    return RunAnswer(
        run_id=requested.run.pk,
        job_id=job_id,
        status=str(requested.run.status),
        coalesced=requested.coalesced,
        admin_url=admin_url(JobRun, requested.run.pk),
    )


@verb("pause", permission="jobs.pause_job")
def pause_job(job_id: str, *, actor: Actor, via: Via, reason: str = "") -> PauseAnswer:
    """Pause a job: no scheduled run starts. Raises ``UnknownJobError``."""
    registry.get(job_id)
    why = kept_reason(reason)
    with short_transaction("default"):
        changed = pausing.pause(job_id, actor=actor.get_username(), reason=why)
        if changed:
            _audit(pause_job.name, job_id, actor, via, why)
    return _pause_answer(job_id, paused=True, changed=changed)


@verb("resume", permission="jobs.pause_job")
def resume_job(job_id: str, *, actor: Actor, via: Via, reason: str = "") -> PauseAnswer:
    """Resume a job; slots of the pause never run. Raises ``UnknownJobError``."""
    declaration = registry.get(job_id)
    with short_transaction("default"):
        changed = pausing.resume(declaration)
        if changed:
            _audit(resume_job.name, job_id, actor, via, kept_reason(reason))
    return _pause_answer(job_id, paused=False, changed=changed)


def _audit(name: str, job_id: str, actor: Actor, via: Via, reason: str, **detail: object) -> None:
    record(
        actor=as_user(actor),
        via=via,
        verb=name,
        target=job_target(job_id),
        reason=reason,
        detail=detail,
    )


def _pause_answer(job_id: str, *, paused: bool, changed: bool) -> PauseAnswer:
    return PauseAnswer(
        job_id=job_id, paused=paused, changed=changed, admin_url=admin_url(JobState, job_id)
    )
