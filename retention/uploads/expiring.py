"""One pass of ``retention.uploads``: what was never finalised in time is released."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from jobs.clock import Now
from jobs.context import RunContext
from jobs.failure import headline
from jobs.objectstore import ErrorKind, StoreError
from jobs.schedule import database_now
from jobs.transactions import short_transaction
from retention.budget import Budget
from retention.models import UploadReservation, UploadStatus
from retention.uploads.errors import UploadsNotReleasedError
from retention.uploads.releasing import release, remove_staged

logger = logging.getLogger(__name__)
EXPIRE = (Path(__file__).resolve().parents[1] / "sql" / "expire_uploads.sql").read_text("utf-8")
BATCH = 500
Act = Callable[[UploadReservation], None]


def release_expired(context: RunContext) -> dict[str, Any]:
    """
    Release what has expired, and clear what came late for kept ones; return the summary.

    A store that does not answer is asked once per run, the others go on. Raises
    ``UploadsNotReleasedError``, which carries the summary, if anything could not be released.
    """
    found = Pass(budget=Budget.of(context))
    expire_due()
    expiring = UploadReservation.objects.filter(status=UploadStatus.EXPIRING)
    for row in found.rows(expiring):
        found.released += found.attempt(row, release)
    late = UploadReservation.objects.filter(status=UploadStatus.COMPLETED, staged_until__lte=Now())
    for row in found.rows(late):
        found.cleared += found.attempt(row, _clear_staged)
    if found.error:
        raise UploadsNotReleasedError(found.summary())
    return found.summary()


def expire_due() -> int:
    """Take what has expired from whoever might finalise it; return how many."""
    now = database_now()
    count = 0
    while True:
        with short_transaction("default"), connection.cursor() as cursor:
            cursor.execute(EXPIRE, {"now": now, "limit": BATCH})
            taken = len(cursor.fetchall())
        count += taken
        if taken < BATCH:
            return count


@dataclass(kw_only=True)
class Pass:
    """What a run has done so far."""

    budget: Budget
    released: int = 0
    cleared: int = 0
    failed: int = 0
    error: str = ""  # the first
    down: set[str] = field(default_factory=set)  # endpoints that did not answer

    def rows(self, rows: QuerySet[UploadReservation]) -> Iterator[UploadReservation]:
        """Yield rows by their ids, each once, until the run is to end."""
        last = 0
        while batch := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
            for row in batch:
                if self.budget.is_spent:
                    return
                yield row
            last = batch[-1].pk
            self.budget.context.checkpoint()

    def attempt(self, row: UploadReservation, act: Act) -> bool:
        """Do something about a row; say whether it was done."""
        if row.endpoint in self.down:
            self.failed += 1
            return False
        try:
            act(row)
        except Exception as error:  # noqa: BLE001 (one row must not stop the others)
            self._note(row, error)
            return False
        return True

    def summary(self) -> dict[str, Any]:
        counts = {"released": self.released, "cleared": self.cleared, "failed": self.failed}
        return counts | ({"error": self.error} if self.error else {})

    def _note(self, row: UploadReservation, error: Exception) -> None:
        self.failed += 1
        self.error = self.error or headline(error)
        logger.warning("upload_not_released id=%s error=%s", row.pk, headline(error))
        if isinstance(error, StoreError) and error.kind is ErrorKind.TRANSIENT:
            self.down.add(row.endpoint)


def _clear_staged(row: UploadReservation) -> None:
    """Remove what an address put after the finaliser had moved the object."""
    remove_staged(row)
    with short_transaction("default"):
        UploadReservation.objects.filter(pk=row.pk).update(staged_until=None)
