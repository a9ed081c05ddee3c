"""
What an operator may do to a job: run it now, pause it, resume it, change when it runs.

The verbs are those of ``jobs.verbs``, which commands and tools call too. A job that never
ran has no row, so these go by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from jobs.admin.history import log_entries
from jobs.admin.schedule_form import ScheduleForm
from jobs.admin.verb_form import VerbForm
from jobs.cadence import Cron
from jobs.declarations import registry
from jobs.models import JobRun, JobState
from jobs.models.audit import Via
from jobs.models.run import RunStatus
from jobs.own_cadence import OwnCadence
from jobs.reads.inventory import JobItem
from jobs.reads.links import object_path
from jobs.verbs import RunAnswer, pause_job, resume_job, run_job, schedule_job


@dataclass(frozen=True, kw_only=True)
class Done:
    """What came of a verb, in words, and the page that shows it."""

    changed: bool
    words: str
    path: str


@dataclass(frozen=True, kw_only=True)
class JobVerb:
    """One thing that an operator may do to a job."""

    name: str
    title: str  # what the button says, without the dots
    permission: str
    explain: Callable[[JobItem], str]  # what will happen
    suits: Callable[[JobItem], bool]
    act: Callable[..., Done]  # job id, user, reason, and by name what else the form asks
    form: Callable[[Any, JobItem], VerbForm] = lambda data, _: VerbForm(data, count=1)


def ask_for_run(job_id: str, user: Any, reason: str) -> RunAnswer:
    """
    Ask for a run by hand, with its audit and its entry in the admin's history.

    Raises what ``run_job`` raises. While a request waits, a second one writes nothing.
    """
    with transaction.atomic():
        answer = run_job(job_id, actor=user, via=Via.ADMIN, reason=reason)
        if not answer.coalesced:
            log_entries(user, JobState, [job_id], text=_said(f"run {answer.run_id}", reason))
    return answer


def _run(job_id: str, user: Any, reason: str) -> Done:
    answer = ask_for_run(job_id, user, reason)
    words = f"Run {answer.run_id} of {job_id} waits for a worker."
    if answer.coalesced:
        words = f"A run of {job_id} was asked for already: run {answer.run_id}. Nothing was added."
    return Done(changed=not answer.coalesced, words=words, path=object_path(JobRun, answer.run_id))


def _pause(job_id: str, user: Any, reason: str) -> Done:
    with transaction.atomic():
        answer = pause_job(job_id, actor=user, via=Via.ADMIN, reason=reason)
        if answer.changed:
            log_entries(user, JobState, [job_id], text=_said("paused", reason))
    words = f"Job {job_id} is paused." if answer.changed else f"Job {job_id} was paused already."
    return Done(changed=answer.changed, words=words, path=object_path(JobState, job_id))


def _resume(job_id: str, user: Any, reason: str) -> Done:
    with transaction.atomic():
        answer = resume_job(job_id, actor=user, via=Via.ADMIN, reason=reason)
        if answer.changed:
            log_entries(user, JobState, [job_id], text=_said("resumed", reason))
    words = f"Job {job_id} is resumed." if answer.changed else f"Job {job_id} was not paused."
    return Done(changed=answer.changed, words=words, path=object_path(JobState, job_id))


def _schedule(job_id: str, user: Any, reason: str, *, cadence: Cron | None = None) -> Done:
    with transaction.atomic():
        answer = schedule_job(job_id, cadence=cadence, actor=user, via=Via.ADMIN, reason=reason)
        now = f"{answer.expression} {answer.zone}"
        if answer.changed:
            log_entries(user, JobState, [job_id], text=_said(f"scheduled {now}", reason))
    words = f"Job {job_id} runs at {now} from now on."
    if not answer.changed:
        words = f"Job {job_id} runs at {now} already."
    return Done(changed=answer.changed, words=words, path=object_path(JobState, job_id))


def _said(what: str, reason: str) -> str:
    return f"{what}: {reason}" if reason else what


def _run_words(job: JobItem) -> str:
    words = (
        f"A worker runs {job.id} once, as soon as one is free. The run is recorded as run by "
        "hand: it says nothing of the schedule, and closes no alert."
    )
    statuses = [run.status for run in job.last_runs or ()]
    if RunStatus.REQUESTED in statuses:
        return f"{words} One was asked for already and waits: this adds none."
    if job.singleton and RunStatus.RUNNING in statuses:
        return f"{words} It is running now: the request waits until that run has ended."
    return words


def _pause_words(job: JobItem) -> str:
    if job.singleton:
        return (
            f"No scheduled run of {job.id} starts until somebody resumes it; slots of the pause "
            "never run. A run that is going on is not ended by it. Its open alerts are closed."
        )
    return (
        f"{job.id} takes nothing from its queue until somebody resumes it; what is queued waits. "
        "What it holds now goes on to its end. Its open alerts are closed."
    )


def _schedule_words(job: JobItem) -> str:
    return (
        f"Workers keep to it from their next look on, within seconds. Slots of the past are not "
        f"made up for. {job.id} runs with what is set here until somebody changes it again."
    )


def _has_own_cadence(job: JobItem) -> bool:
    declaration = registry.find(job.id)
    return declaration is not None and isinstance(declaration.read_cadence, OwnCadence)


def _schedule_form(data: Any, job: JobItem) -> VerbForm:
    own = registry.get(job.id).read_cadence
    if not isinstance(own, OwnCadence):
        return VerbForm(data, count=1)  # the verb refuses it
    return ScheduleForm(data, own=own, cadence=job.cadence)


def _resume_words(job: JobItem) -> str:
    if job.singleton:
        return f"{job.id} runs again from its next slot on. Slots of the pause never run."
    return f"{job.id} takes from its queue again, beginning with what has waited."


RUN = JobVerb(
    name="run",
    title="Run now",
    permission=run_job.permission,
    explain=_run_words,
    suits=lambda job: job.declared and job.manual_run,
    act=_run,
)
PAUSE = JobVerb(
    name="pause",
    title="Pause",
    permission=pause_job.permission,
    explain=_pause_words,
    suits=lambda job: job.declared and not job.paused,
    act=_pause,
)
RESUME = JobVerb(
    name="resume",
    title="Resume",
    permission=resume_job.permission,
    explain=_resume_words,
    suits=lambda job: job.declared and job.paused,
    act=_resume,
)
SCHEDULE = JobVerb(
    name="schedule",
    title="Change schedule",
    permission=schedule_job.permission,
    explain=_schedule_words,
    suits=_has_own_cadence,
    act=_schedule,
    form=_schedule_form,
)
JOB_VERBS = (RUN, PAUSE, RESUME, SCHEDULE)
