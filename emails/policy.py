"""How mail is claimed."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce

from emails import conf
from emails.models import EmailJob
from jobs.claims import ClaimPolicy, Counts, StaleAfter
from jobs.conf import CLAIM_STALE_MS, RETRY_BACKOFF_MS

BATCH = 100
# What is needed to send a mail; of what else its row says the claim reads nothing.
READ_TO_SEND = (
    "attempts",
    "max_attempts",
    "interruptions",
    "claimed_at",
    "created_at",
    "expires_at",
    "last_error",
    "recipients",
    "mail_from",
    "size",
    "is_list_mail",
    "list_name",
)


def email_policy() -> ClaimPolicy:
    """Return the policy by the settings as they are now."""
    return _policy(
        CLAIM_STALE_MS.get(),
        conf.MAX_STALE_RECOVERIES.get(),
        conf.CONNECTIONS.get(),
        RETRY_BACKOFF_MS.get(),
    )


@lru_cache(maxsize=8)
def _policy(
    stale_ms: int, max_stale_recoveries: int, connections: int, backoff_ms: tuple[int, ...]
) -> ClaimPolicy:
    return ClaimPolicy(
        model=EmailJob,
        # A crash costs no attempt of a mail; a mail that kills its worker ends by its
        # stale recoveries.
        counts=Counts.IN_CATCH,
        max_attempts="max_attempts",
        max_stale_recoveries=max_stale_recoveries,
        expiry=StaleAfter(ms=stale_ms),
        order=("-priority", "id"),
        sort=(F("priority").desc(), Coalesce("next_retry_at", "created_at").asc()),
        batch=BATCH,
        handlers=connections,
        further_connections=1,  # that marks are written over, beside what is streamed
        backoff_ms=backoff_ms,
        done_status="sent",
        columns=READ_TO_SEND,
        on_claim={
            # Its worker died between the final dot and the answer: the server may have it.
            "possible_duplicate": in_doubt(),
            "sending_since": Value(None),
        },
    )


def in_doubt() -> Case:
    """Return ``possible_duplicate`` of a row whose work ends here: was its final dot let go?"""
    return Case(
        When(sending_since__isnull=False, then=Value(value=True)),
        default=F("possible_duplicate"),
    )
