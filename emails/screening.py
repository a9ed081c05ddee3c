"""Who of a mail's recipients is not to be tried now: suppressed, or in a domain that waits."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from emails.models import EmailJob, RecipientState
from emails.suppression import Entries, entries_of, stopped_by
from emails.throttles import Throttles
from jobs.claims import Claim

# What was read of the suppression list is used for so long: one query for a whole claim, and
# an entry made meanwhile still stops what is sent a second later.
FRESH_SECONDS = 1.0
# A mail waits so long for throttled domains, and for a server that hangs up at its recipients,
# without spending attempts; after that each wait counts as one, so that it ends.
PATIENCE = dt.timedelta(days=1)
NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Screened:
    """What is known of a mail before it is sent."""

    recipients: list[dict[str, Any]]  # suppressed ones marked
    held: frozenset[str]  # addresses whose domain waits
    is_patient: bool  # waiting costs no attempt yet

    @property
    def to_try(self) -> tuple[str, ...]:
        """The addresses to be tried now."""
        return tuple(
            item["address"]
            for item in self.recipients
            if item["state"] == RecipientState.PENDING and item["address"] not in self.held
        )

    @property
    def is_held_back(self) -> bool:
        """Whether somebody is not to be tried who has not got it yet."""
        return bool(self.held) or any(
            item["state"] == RecipientState.SUPPRESSED for item in self.recipients
        )

    @property
    def is_suppressed(self) -> bool:
        """Whether nobody is left who may get it, or got it, or refused it."""
        return all(item["state"] == RecipientState.SUPPRESSED for item in self.recipients)


class Screen:
    """
    Looks at whole claims at once, and again at a mail whose look was long ago.

    One thread looks at claims; any thread asks about their mail.
    """

    def __init__(self, throttles: Throttles) -> None:
        self._throttles = throttles
        self._looks: dict[uuid.UUID, tuple[float, Entries]] = {}  # by claim token

    def look(self, claim: Claim) -> None:
        """Read the suppression list for all recipients of a claim."""
        mails = cast("Sequence[EmailJob]", claim.rows)
        began = time.monotonic()
        found = entries_of(item["address"] for mail in mails for item in mail.recipients)
        fresh = {k: v for k, v in self._looks.items() if began - v[0] < FRESH_SECONDS}
        self._looks = {**fresh, claim.token: (began, found)}

    def of(self, mail: EmailJob) -> Screened:
        """Return what is known of a mail now."""
        recipients, entries = mail.recipients, self._entries_for(mail)
        if entries:
            recipients = mark_suppressed(
                recipients, entries, is_list_mail=mail.is_list_mail, list_name=mail.list_name
            )
        claimed_at = cast("dt.datetime", mail.claimed_at)
        return Screened(
            recipients=recipients,
            held=NOBODY if self._throttles.is_empty else self._held(recipients),
            is_patient=claimed_at - mail.created_at < PATIENCE,
        )

    def _held(self, recipients: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        return frozenset(
            item["address"]
            for item in recipients
            if item["state"] == RecipientState.PENDING
            and self._throttles.seconds_left(item["domain"])
        )

    def _entries_for(self, mail: EmailJob) -> Entries:
        looked_at, entries = self._looks.get(cast("uuid.UUID", mail.claim_token), (0.0, {}))
        if time.monotonic() - looked_at < FRESH_SECONDS:
            return entries
        return entries_of(item["address"] for item in mail.recipients)


def mark_suppressed(
    recipients: Sequence[Mapping[str, Any]],
    entries: Entries,
    *,
    is_list_mail: bool,
    list_name: str,
) -> list[dict[str, Any]]:
    """Return the recipients with those marked that are pending and on the suppression list."""
    marked = [dict(item) for item in recipients]
    for item in marked if entries else ():
        if item["state"] != RecipientState.PENDING:
            continue
        reason = stopped_by(
            entries, item["address"], is_list_mail=is_list_mail, list_name=list_name
        )
        if reason is not None:
            item |= {"state": RecipientState.SUPPRESSED.value, "text": f"suppressed: {reason}"}
    return marked
