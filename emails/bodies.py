"""The bytes of claimed mail, read for a whole claim at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from emails.models import EmailBody, EmailJob
from emails.statements import fetch

# A body that is erased meanwhile is not sent a second later.
FRESH_SECONDS = 1.0
# Larger mail is read when its turn comes, so that a claim of it does not fill the memory.
MOST_BYTES = 4 * 1024 * 1024


class Bodies:
    """Bodies read ahead. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[int, tuple[float, bytes]] = {}

    def read_ahead(self, mails: Iterable[EmailJob]) -> None:
        """Read the bodies of mails that will be sent in a moment, as far as memory allows."""
        wanted, size = [], 0
        for mail in mails:
            size += mail.size
            if size > MOST_BYTES:
                break
            wanted.append(mail.pk)
        began = time.monotonic()
        read = {row_id: (began, bytes(raw)) for row_id, raw in fetch("mail_bodies", ids=wanted)}
        with self._lock:
            fresh = {k: v for k, v in self._read.items() if began - v[0] < FRESH_SECONDS}
            self._read = fresh | read

    def take(self, mail: EmailJob) -> bytes | None:
        """Return the bytes of a mail; None when they have been removed."""
        with self._lock:
            read_at, raw = self._read.pop(mail.pk, (0.0, b""))
        if raw and time.monotonic() - read_at < FRESH_SECONDS:
            return raw
        found = EmailBody.objects.filter(pk=mail.pk).values_list("raw", flat=True).first()
        return None if found is None else bytes(found)
