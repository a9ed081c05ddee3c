"""
A singleton's run in this process, for a command: held and recorded like any other.

While it goes on no worker begins another, and its lease is moved forward from here.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import uuid
from collections.abc import Iterator
from types import FrameType

from django.db import connections

from jobs import conf
from jobs.audit import record
from jobs.capture import route_prints
from jobs.context import RunContext
from jobs.declarations import JobDeclaration
from jobs.errors import AlreadyRunningError
from jobs.ledger import OpenRun, close_lost, lease_seconds, open_runs
from jobs.models import JobRun, JobState
from jobs.models.audit import Via
from jobs.models.run import RunStatus, Trigger
from jobs.schedule import held
from jobs.singletons import SingletonRun
from jobs.transactions import short_transaction
from jobs.verbs import Actor, job_target, run_job
from jobs.verbs.actors import as_user
from jobs.verbs.targets import kept_reason


def run_in_foreground(
    declaration: JobDeclaration, *, actor: Actor, via: Via, reason: str = ""
) -> JobRun:
    """
    Run a singleton once, by hand, in the calling thread; return its row of the ledger.

    Audited as a run that was asked for, since it is one.

    SIGTERM and SIGINT end it as they end a worker. Raises ``AlreadyRunningError`` while
    another run of the job goes on.
    """
    run = _begin(declaration.id, actor=actor, via=via, reason=kept_reason(reason))
    context = RunContext(declaration=declaration, trigger=Trigger.MANUAL)
    run.cancel = context.cancelled.set
    route_prints()
    with _stopped_by_signals(context), _heartbeat():
        SingletonRun(context, run).execute()
    return JobRun.objects.get(pk=run.id)


def _begin(job_id: str, *, actor: Actor, via: Via, reason: str) -> OpenRun:
    close_lost()
    token = uuid.uuid4()
    with short_transaction("default"):
        JobState.objects.bulk_create([JobState(job_id=job_id)], ignore_conflicts=True)
        # Locked against its slots and requests, which begin under the same lock.
        JobState.objects.select_for_update().get(pk=job_id)
        going_on = JobRun.objects.filter(job_id=job_id, status=RunStatus.RUNNING).first()
        if going_on is not None:
            raise AlreadyRunningError(job_id, going_on.pk, going_on.claimed_by)
        row = JobRun.objects.create(
            job_id=job_id,
            trigger=Trigger.MANUAL,
            requested_by=actor.get_username()[:200],
            reason=reason,
            **held(token),
        )
        record(
            actor=as_user(actor),
            via=via,
            verb=run_job.name,
            target=job_target(job_id),
            reason=reason,
            detail={"run_id": row.pk},
        )
    run = OpenRun(id=row.pk, job_id=job_id, token=token, trigger=Trigger.MANUAL)
    open_runs.add(run)
    return run


@contextlib.contextmanager
def _heartbeat() -> Iterator[None]:
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(lease_seconds() / 3):
            # A database that is away is noticed by the run itself.
            with contextlib.suppress(Exception):
                open_runs.heartbeat()
        connections.close_all()

    thread = threading.Thread(target=beat, name="engineroom-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(1.0)


@contextlib.contextmanager
def _stopped_by_signals(context: RunContext) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        if context.stop.is_set():
            raise KeyboardInterrupt
        context.stop.set(grace_ms=conf.SHUTDOWN_GRACE_MS.get())

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are not this thread's to take
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
