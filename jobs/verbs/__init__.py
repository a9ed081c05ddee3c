"""
What an operator may do to jobs, runs and alerts.

Each verb is one function, called by pages, commands and tools alike: it does the action and
writes its one row of the audit in the same transaction. Pressing twice acts once: then the
answer says that nothing changed, and the audit has one row. ``verb.permission`` names who
may; the callers check it.
"""

from jobs.verbs.actors import Actor
from jobs.verbs.alerts import AcknowledgeAnswer, acknowledge_alert
from jobs.verbs.cadence import CadenceAnswer, schedule_job
from jobs.verbs.errors import (
    FixedCadenceError,
    QueuePassError,
    RunEndedError,
    UnknownRunError,
)
from jobs.verbs.jobs import PauseAnswer, RunAnswer, pause_job, resume_job, run_job
from jobs.verbs.runs import CancelAnswer, cancel_run
from jobs.verbs.targets import job_target, run_target
from jobs.verbs.verb import Verb

__all__ = [
    "AcknowledgeAnswer",
    "Actor",
    "CadenceAnswer",
    "CancelAnswer",
    "FixedCadenceError",
    "PauseAnswer",
    "QueuePassError",
    "RunAnswer",
    "RunEndedError",
    "UnknownRunError",
    "Verb",
    "acknowledge_alert",
    "cancel_run",
    "job_target",
    "pause_job",
    "resume_job",
    "run_job",
    "run_target",
    "schedule_job",
]
