"""
Domains of recipients whose servers ask for patience.

``421 4.7.x`` and ``450 4.7.x`` at a recipient hold back mail to that domain only, for all
workers, by a doubling delay of its own. A mail with recipients elsewhere is sent to those at
once. A recipient accepted there ends it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping

from django.db.models import DurationField, ExpressionWrapper, F, Q

from emails.models import EmailDomain
from emails.replies import Reply
from jobs.clock import ClockTime, Now, ago, from_now
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)
FIRST_DELAY_SECONDS = 30.0
LONGEST_DELAY_SECONDS = 900.0
# A domain that was left alone for so long begins anew.
FORGET_SECONDS = 86_400.0
LONGEST_ERROR = 1000


class Throttles:
    """The domains that are held back, as one worker knows them. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: Mapping[str, float] = {}  # monotonic; in the past: may be tried

    def know(self, seconds: Mapping[str, float]) -> None:
        """Take in what all workers have noted: in how many seconds a domain may be tried."""
        now = time.monotonic()
        found = {domain: now + each for domain, each in seconds.items()}
        with self._lock:
            self._until = found

    @property
    def is_empty(self) -> bool:
        """Whether no domain is held back."""
        return not self._until

    def seconds_left(self, domain: str) -> float:
        """Return how long a domain must be left alone; 0 for one that may be tried."""
        until = self._until.get(domain.lower())
        return 0.0 if until is None else max(0.0, until - time.monotonic())

    def hold(self, domain: str, reply: Reply | None) -> float:
        """Hold a domain back, longer each time in a row; return for how many seconds."""
        name = domain.lower()
        seconds = _note(name, reply)
        with self._lock:
            self._until = {**self._until, name: time.monotonic() + seconds}
        return seconds

    def accept(self, domains: Iterable[str]) -> None:
        """Forget domains that have accepted a recipient."""
        if not self._until:
            return
        known = {name for name in map(str.lower, domains) if name in self._until}
        if not known:
            return
        gone, _ = EmailDomain.objects.filter(domain__in=known).delete()
        with self._lock:
            self._until = {k: v for k, v in self._until.items() if k not in known}
        if gone:
            logger.warning("domain_released domains=%s", ",".join(sorted(known)))


def delay_seconds(failures: int) -> float:
    """Return how long a domain is left alone after so many throttles in a row."""
    return float(min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(failures - 1, 20)))


def _note(domain: str, reply: Reply | None) -> float:
    """Write a throttle down, unless another worker has just done so; return the seconds left."""
    with short_transaction("default"):
        EmailDomain.objects.bulk_create(
            [
                EmailDomain(
                    domain=domain, failures=0, throttled_at=ClockTime(), next_allowed_at=ClockTime()
                )
            ],
            ignore_conflicts=True,
        )
        rows = EmailDomain.objects.filter(domain=domain)
        row = rows.select_for_update().get()
        # Mails in flight together are one throttle.
        if rows.filter(Q(next_allowed_at__lte=Now()) | Q(failures=0)).exists():
            _lengthen(row, reply)
        left = ExpressionWrapper(F("next_allowed_at") - Now(), output_field=DurationField())
        return float(rows.values_list(left, flat=True).get().total_seconds())


def _lengthen(row: EmailDomain, reply: Reply | None) -> None:
    rows = EmailDomain.objects.filter(pk=row.pk)
    forgotten = rows.filter(next_allowed_at__lt=ago(FORGET_SECONDS * 1000)).exists()
    failures = 1 if forgotten else row.failures + 1
    seconds = delay_seconds(failures)
    rows.update(
        failures=failures,
        throttled_at=ClockTime() if failures == 1 else F("throttled_at"),
        next_allowed_at=from_now(seconds * 1000),
        last_code=reply.code if reply else None,
        last_error=str(reply or "")[:LONGEST_ERROR],
    )
    if failures == 1:
        logger.warning("domain_throttled domain=%s seconds=%g reply=%s", row.domain, seconds, reply)
