"""
Reads what the rules look at: state rows, a few runs per job, a capped count per queue.

Each part is read once, when a rule asks for it, in a savepoint with a time limit of its
own, so that a part which fails fails only the rules that need it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models.functions import Coalesce

from jobs.alerts import movement
from jobs.alerts.backups import ReadBackup, declared_backups
from jobs.alerts.errors import EvaluationTimeoutError
from jobs.alerts.facts import (
    BackupFacts,
    DeadLetterFacts,
    JobFacts,
    RunFacts,
    StallFacts,
    WorkerFacts,
)
from jobs.alerts.rules import alive_since
from jobs.alerts.statements import as_json, fetch
from jobs.claims import ClaimPolicy
from jobs.deadletters import DeadLetterQueue, count_dead, dead_letter_queue, declared_queues
from jobs.declarations import JobDeclaration, registry
from jobs.errors import EngineroomError
from jobs.failure import headline
from jobs.models import JobState, Worker
from jobs.reads.bounded import bounded
from jobs.schedule import database_now

READ_LIMIT_MS = 2000
ALERTS_JOB = "jobs.alerts"
RUNS_READ = 20
SLOTS_READ = 3
WORKERS_READ = 500
IN_WORK_READ = 1000


@dataclass(frozen=True, kw_only=True)
class QueueRef:
    """A declared queue: its dead letters, its policy, its job."""

    dead_letters: DeadLetterQueue
    policy: ClaimPolicy | None
    job_id: str
    is_paused: bool

    @property
    def name(self) -> str:
        return self.dead_letters.queue


class Snapshot:
    """
    The facts of all declared jobs, or of some, as they are now.

    ``seconds`` limits all reads together; beyond it a read raises
    ``EvaluationTimeoutError``.
    """

    def __init__(self, *, job_ids: Collection[str] | None = None, seconds: float = 8.0) -> None:
        self._wanted = None if job_ids is None else frozenset(job_ids)
        self._deadline = time.monotonic() + seconds
        self.notes: dict[str, movement.Noted] = {}  # what an evaluation leaves to the next
        self.broken: dict[str, EngineroomError] = {}  # jobs whose queue cannot be looked at

    @property
    def is_whole(self) -> bool:
        """Whether it is about all jobs, so that what is not in it is declared no more."""
        return self._wanted is None

    @cached_property
    def now(self) -> dt.datetime:
        """The database's time."""
        return database_now()

    @cached_property
    def workers(self) -> tuple[WorkerFacts, ...]:
        """The processes that were seen in the last day, the last seen first."""
        columns = ("name", "started_at", "heartbeat_at", "claim_stale_ms", "stopped_at")
        with self.reading():
            rows = list(Worker.objects.order_by("-heartbeat_at").values(*columns)[:WORKERS_READ])
        return tuple(
            WorkerFacts(is_stopped=row.pop("stopped_at") is not None, **row) for row in rows
        )

    @property
    def alive_since(self) -> dt.datetime | None:
        """Since when there has been a worker; None: there is none."""
        return alive_since(self.workers, now=self.now)

    @cached_property
    def declarations(self) -> tuple[JobDeclaration, ...]:
        """The declared jobs that it is about."""
        return tuple(job for job in registry if self._wanted is None or job.id in self._wanted)

    @cached_property
    def states(self) -> dict[str, JobState]:
        """The state row of each job that has one."""
        with self.reading():
            return JobState.objects.in_bulk([job.id for job in self.declarations])

    @cached_property
    def jobs(self) -> tuple[JobFacts, ...]:
        """The declared jobs with their last scheduled runs."""
        with self.reading():
            rows = fetch(
                "scheduled_runs",
                {
                    "job_ids": [job.id for job in self.declarations],
                    "ended": RUNS_READ,
                    "slots": SLOTS_READ,
                },
            )
        return tuple(job_facts(job, self.states.get(job.id), rows) for job in self.declarations)

    @cached_property
    def queues(self) -> tuple[QueueRef, ...]:
        """The queues of those jobs, by name; jobs without a usable policy are in ``broken``."""
        found: dict[str, QueueRef] = {}
        for job in self.declarations:
            try:
                queue = dead_letter_queue(job)
            except EngineroomError as error:
                self.broken[job.id] = error
                continue
            if queue is not None and job.policy is not None:
                other = found.get(queue.queue)
                # A queue is paused when every job that works it is.
                paused = self._is_paused(job.id) and (other is None or other.is_paused)
                found[queue.queue] = QueueRef(
                    dead_letters=queue, policy=job.policy(), job_id=job.id, is_paused=paused
                )
        for queue in declared_queues() if self.is_whole else ():
            paused = self._is_paused(queue.job_id)
            ref = QueueRef(dead_letters=queue, policy=None, job_id=queue.job_id, is_paused=paused)
            found.setdefault(queue.queue, ref)
        return tuple(found[name] for name in sorted(found))

    def dead_letters(self, queue: QueueRef) -> DeadLetterFacts:
        """Count a queue's dead letters; not those of a paused one."""
        told: dict[str, Any] = {
            "queue": queue.name,
            "job_id": queue.job_id,
            "is_paused": queue.is_paused,
        }
        if queue.is_paused:
            return DeadLetterFacts(count=0, **told)
        with self.reading():
            count = count_dead(queue.dead_letters)
        return DeadLetterFacts(
            count=count.value,
            is_capped=count.is_capped,
            threshold=queue.dead_letters.threshold,
            **told,
        )

    def stall(self, queue: QueueRef) -> StallFacts:
        """Look at what is in work on a queue, and whether it moves."""
        told: dict[str, Any] = {
            "queue": queue.name,
            "job_id": queue.job_id,
            "is_paused": queue.is_paused,
        }
        if queue.policy is None or queue.is_paused:
            return StallFacts(processing=0, **told)
        with self.reading():
            begun = self._in_work(queue.policy)
            if not begun:
                return StallFacts(processing=0, **told)
            passes = self._passes(queue.name)
            progress = movement.declared_progress(queue.name)
        note = movement.follow(self._earlier.get(queue.name), passes, progress, now=self.now)
        self.notes[queue.name] = note
        return StallFacts(
            processing=len(begun),
            in_work_since=min(begun),
            finished_at=movement.last_finish(passes),
            moved_at=note.moved_at,
            **told,
        )

    @property
    def backups(self) -> dict[str, ReadBackup]:
        """What apps declare to be backed up."""
        return declared_backups() if self.is_whole else {}

    def backup(self, subject: str, read: ReadBackup) -> BackupFacts:
        """Ask how old a backup is."""
        with self.reading():
            state = read()
        return BackupFacts(
            subject=subject,
            newest_verified_at=state.newest_verified_at,
            rpo_hours=state.rpo_hours,
            is_enabled=state.is_enabled,
            is_paused=self._is_paused(subject),
        )

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Limit the statements of a block by what is left of the time."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise EvaluationTimeoutError
        with bounded(milliseconds=max(1, min(READ_LIMIT_MS, int(left * 1000)))):
            yield

    @cached_property
    def _earlier(self) -> dict[str, movement.Noted]:
        with self.reading():
            rows = fetch("last_output", {"job_id": ALERTS_JOB})
        return movement.read_notes(as_json(rows[0]["output"]) if rows else None)

    def _is_paused(self, job_id: str) -> bool:
        state = self.states.get(job_id)
        return state is not None and state.paused_at is not None

    def _in_work(self, policy: ClaimPolicy) -> list[dt.datetime]:
        # The partial index of claimed rows finds them; there are as many as handlers.
        rows = policy.model._default_manager.using(policy.using).filter(status="processing")
        since = Coalesce("begun_at", "claimed_at")
        return list(
            rows.order_by(policy.expiry.column).values_list(since, flat=True)[:IN_WORK_READ]
        )

    def _passes(self, queue: str) -> list[movement.Pass]:
        rows = fetch("passes_of_queues", {"job_ids": jobs_of_queue(queue)})
        return [
            movement.Pass(
                id=row["id"],
                status=row["status"],
                finished_at=row["finished_at"],
                progress_done=row["progress_done"],
                output=as_json(row["output"]) or {},
            )
            for row in rows
        ]


def job_facts(
    job: JobDeclaration, state: JobState | None, rows: Collection[dict[str, Any]]
) -> JobFacts:
    """Return the facts of one job; ``rows`` are of ``scheduled_runs``, of any job."""
    trouble = ""
    cadence = None
    try:
        cadence = job.cadence
    except EngineroomError as error:
        trouble = str(error)
    except Exception as error:  # noqa: BLE001 (the project's own function reads it)
        trouble = headline(error)
    mine = [row for row in rows if row["job_id"] == job.id]
    return JobFacts(
        id=job.id,
        cadence=cadence,
        trouble=trouble,
        singleton=job.singleton,
        is_paused=state is not None and state.paused_at is not None,
        **({name: getattr(state, name) for name in STATE_COLUMNS} if state else {}),
        ended=_runs(mine, "ended"),
        slots=_runs(mine, "slot"),
    )


def jobs_of_queue(queue: str) -> list[str]:
    """Return the ids of the declared jobs that work a queue."""
    found = []
    for job in registry:
        with contextlib.suppress(EngineroomError):
            if job.policy is not None and job.policy().queue == queue:
                found.append(job.id)
    return found


STATE_COLUMNS = ("first_seen_at", "accounted_until", "next_due_at", "last_tick_at")


def _runs(rows: Collection[dict[str, Any]], part: str) -> tuple[RunFacts, ...]:
    return tuple(
        RunFacts(
            id=row["id"],
            status=row["status"],
            slot=row["scheduled_for"],
            started_at=row["started_at"],
            finished_at=row["finished_at"],
        )
        for row in rows
        if row["part"] == part
    )
