"""
What a job is: its declaration, and the registry of all of them.

The inventory is built from these declarations joined to the ledger, so that a job which
never ran is visible as such.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from jobs.cadence import Cron, Every, Manual
from jobs.errors import DuplicateJobError, UnknownJobError
from jobs.models.activity import LogSource
from jobs.slots import MissedPolicy, RunLatest

if TYPE_CHECKING:
    from jobs.claims import ClaimPolicy
    from jobs.context import RunContext

RunOnce = Callable[["RunContext"], Any]
Cadence = Every | Cron | Manual


@dataclass(frozen=True, kw_only=True)
class JobDeclaration:
    """One job, as its app declares it."""

    id: str  # package, dot, noun: "emails.processor"
    summary: str  # one sentence, shown on the Jobs page
    run_once: RunOnce
    owner_file: str  # path below the project, with the line
    # Read anew at each start, since it may come from a setting.
    read_cadence: Callable[[], Cadence]
    cadence_is_data: bool = False  # edited in the admin, not a constant in code
    config_page: str | None = None  # name of the admin page that owns its configuration
    manual_run: bool = True  # an operator may force a run
    singleton: bool = True  # False: every replica works the queue
    # Of a queue worker: how its rows are claimed, read anew since settings have a say.
    policy: Callable[[], ClaimPolicy] | None = None
    channels: tuple[str, ...] = ()  # further NOTIFY channels that wake it
    missed: MissedPolicy = field(default_factory=RunLatest)  # slots of a downtime
    log_source: LogSource = LogSource.JOB

    @property
    def cadence(self) -> Cadence:
        """The cadence as it is now."""
        return self.read_cadence()


class Registry:
    """All declared jobs of the installed apps, by id."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobDeclaration] = {}
        # Refused by a system check: an exception here would end the import of the app.
        self.duplicates: list[DuplicateJobError] = []

    def add(self, declaration: JobDeclaration) -> None:
        """Add a declaration; a second one with the same id is kept out and noted."""
        known = self._jobs.get(declaration.id)
        if known is not None:
            self.duplicates.append(
                DuplicateJobError(declaration.id, known.owner_file, declaration.owner_file)
            )
            return
        self._jobs[declaration.id] = declaration

    def get(self, job_id: str) -> JobDeclaration:
        """Return a declaration; raise ``UnknownJobError``, which names the nearest id."""
        if job_id not in self._jobs:
            known = sorted(self._jobs)
            nearest = difflib.get_close_matches(job_id, known, n=1)
            raise UnknownJobError(job_id, known, nearest[0] if nearest else None)
        return self._jobs[job_id]

    def find(self, job_id: str) -> JobDeclaration | None:
        """Return a declaration, or None for a job that nobody declares any more."""
        return self._jobs.get(job_id)

    def remove(self, job_id: str) -> None:
        """Forget a declaration whose data was deleted."""
        self._jobs.pop(job_id, None)

    def __iter__(self) -> Iterator[JobDeclaration]:
        return iter([self._jobs[job_id] for job_id in sorted(self._jobs)])

    def __len__(self) -> int:
        return len(self._jobs)


registry = Registry()


def job(
    job_id: str, *, cadence: Cadence | Callable[[], Cadence], summary: str, **options: Any
) -> Callable[[RunOnce], RunOnce]:
    """
    Declare the decorated function as a job.

    ``cadence`` is a value, or a function that reads it when workers start. The options
    are the fields of ``JobDeclaration``. The function takes a ``RunContext`` and returns
    the run's summary, or None.
    """

    def declare(run_once: RunOnce) -> RunOnce:
        registry.add(
            JobDeclaration(
                id=job_id,
                summary=summary,
                run_once=run_once,
                owner_file=owner_file(run_once),
                read_cadence=cadence if callable(cadence) else lambda: cadence,
                **options,
            )
        )
        return run_once

    return declare


def owner_file(function: Callable[..., Any]) -> str:
    """Return the file and line of a function, relative to the project where it is below it."""
    code = inspect.unwrap(function).__code__
    path = Path(code.co_filename)
    base = Path(getattr(settings, "BASE_DIR", Path.cwd()))
    if path.is_relative_to(base):
        path = path.relative_to(base)
    return f"{path}:{code.co_firstlineno}"
