"""Giving up: one line in the log, whoever gave up and whenever."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from deletions.halves import halves_line, left_behind
from deletions.models import StepState, UserDeletion, UserDeletionStep

logger = logging.getLogger(__name__)


def report_abandoned(ids: Sequence[int]) -> None:
    """
    Write ``deletion_abandoned`` for deletions that have just been given up.

    A step that was in work when its worker died is marked as failed: nothing else says so.
    """
    UserDeletionStep.objects.filter(
        deletion_id__in=ids, deletion__status="abandoned", begun_at__isnull=False
    ).update(state=StepState.FAILED, detail="The worker died in this step.", begun_at=None)
    for row in UserDeletion.objects.filter(pk__in=ids).prefetch_related("steps").order_by("pk"):
        steps = list(row.steps.all())
        logger.error(
            "deletion_abandoned id=%s user=%s attempts=%s %s left_behind=%r",
            row.pk,
            row.user_id,
            row.attempts,
            halves_line(steps),
            left_behind(steps),
        )
