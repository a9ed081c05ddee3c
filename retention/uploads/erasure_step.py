"""
A step for the deletion of users that discards their uploads.

It has the form that ``USER_DELETION_STEPS`` asks for and needs nothing of the app that runs
it: name, half, words, and ``run`` with what is known of the user.
"""

from __future__ import annotations

from typing import Any

from jobs.transactions import short_transaction
from jobs.workers.queue_pass import Waiting
from retention.models import UploadReservation, UploadStatus
from retention.uploads.owners import user_key
from retention.uploads.releasing import release

# A finaliser that is at it has ended by then, or is asked again.
WAIT_SECONDS = 60.0
LET_GO = (UploadStatus.PENDING, UploadStatus.COMPLETED)


class DiscardUploads:
    """Removes what a user has uploaded, kept or not. An error of the store fails the step."""

    name = "uploads"
    half = "external"
    left_behind = "the user's uploads are still in the store"

    def run(self, call: Any) -> Waiting | None:
        """Discard one after the other; wait for one that is being finalised at the moment."""
        rows = UploadReservation.objects.filter(owner=user_key(call.user_id))
        with short_transaction("default"):
            rows.filter(status__in=LET_GO).update(status=UploadStatus.EXPIRING)
        total, done = rows.count(), 0
        while row := rows.filter(status=UploadStatus.EXPIRING).order_by("pk").first():
            if call.should_stop():
                return Waiting(seconds=1)
            release(row)
            done += 1
            call.progress(done, total)
        if left := rows.count():
            call.say(f"{left} uploads of the user are being finalised right now")
            return Waiting(seconds=WAIT_SECONDS)
        call.say(f"{done} uploads discarded")
        return None
