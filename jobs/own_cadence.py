"""
A cadence that is data: declared with a default, changed by an operator.

What is set lies in ``job_states``, and every worker reads it anew at each slot. A change
counts from that moment on, and slots of the past are not made up for.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs import notifier
from jobs.cadence import Cron
from jobs.declarations import JobDeclaration
from jobs.models import JobState
from jobs.pausing import CHANNEL
from jobs.schedule import anchor
from jobs.transactions import short_transaction


@dataclass(frozen=True)
class OwnCadence:
    """
    Reads a job's cadence; give it as ``cadence`` to ``job`` with ``cadence_is_data=True``.

    Refuses a default that no schedule can keep, where it is written.
    """

    job_id: str
    default: Cron

    def __call__(self) -> Cron:
        """Return what an operator has set, or the default."""
        row = JobState.objects.filter(pk=self.job_id).exclude(own_cron="").first()
        return self.default if row is None else Cron(row.own_cron, zone=row.own_zone)


def own_cadence(job_id: str, expression: str, *, zone: str = "UTC") -> OwnCadence:
    """Return a cadence that is this until an operator changes it."""
    return OwnCadence(job_id, Cron(expression, zone=zone))


def set_cadence(declaration: JobDeclaration, cadence: Cron | None) -> bool:
    """
    Set when a job runs from now on, None as declared; False when it is so already.

    In the caller's transaction if it has one.
    """
    own = {
        "own_cron": "" if cadence is None else cadence.expression,
        "own_zone": "" if cadence is None else cadence.zone,
    }
    with short_transaction("default"):
        JobState.objects.bulk_create([JobState(job_id=declaration.id)], ignore_conflicts=True)
        changed = JobState.objects.filter(pk=declaration.id).exclude(**own).update(**own)
        if changed:
            anchor(declaration)
            notifier.wake(CHANNEL)
    return bool(changed)
