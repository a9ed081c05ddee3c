"""What an attempt makes of a mail's recipients, and so of the mail. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from emails.envelopes import DeliveryResult, RecipientResult
from emails.replies import Outcome

Recipients = Sequence[Mapping[str, Any]]


class Verdict(enum.Enum):
    """What becomes of the mail."""

    SENT = "sent"  # nobody is pending and somebody was accepted
    DEAD = "dead letter"  # nobody is pending and nobody was accepted
    RETRY = "retry"  # somebody is pending; an attempt is counted
    GIVE_BACK = "give back"  # the mail itself was not tried; nothing is counted


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """What is to be written of one attempt."""

    verdict: Verdict
    recipients: list[dict[str, Any]]
    outcome: str  # "" or "partial"
    problem: str  # the first problem on one line, or ""
    code: int | None
    uncertain: bool


def pending_addresses(recipients: Recipients) -> tuple[str, ...]:
    """Return the addresses that are still to be tried; an accepted one never is again."""
    return tuple(item["address"] for item in recipients if item["state"] == "pending")


def settle(
    recipients: Recipients, result: DeliveryResult, *, attempts: int, max_attempts: int
) -> Settlement:
    """
    Return what becomes of a mail after an attempt.

    ``attempts`` are those counted before it. At the last one, recipients still pending are
    given up if others were accepted, so that the mail is ``sent`` with the outcome
    ``partial``; if none was, it is a dead letter by the cap.
    """
    by_address = {item.address: item for item in result.recipients}
    updated = [_updated(item, by_address.get(item["address"])) for item in recipients]
    counts = result.counts_an_attempt
    is_last = counts and attempts + 1 >= max_attempts
    if is_last and any(item["state"] == "accepted" for item in updated):
        updated = [_given_up(item, max_attempts) for item in updated]
    problem = result.first_problem
    return Settlement(
        verdict=_verdict(updated, counts=counts),
        recipients=updated,
        outcome="partial" if any(item["state"] == "refused" for item in updated) else "",
        problem=f"{problem.address}: {problem.text}" if problem else "",
        code=problem.reply.code if problem and problem.reply else _accepted_code(result),
        uncertain=result.uncertain,
    )


def _verdict(recipients: Recipients, *, counts: bool) -> Verdict:
    states = {item["state"] for item in recipients}
    if "pending" in states:
        return Verdict.RETRY if counts else Verdict.GIVE_BACK
    return Verdict.SENT if "accepted" in states else Verdict.DEAD


def _updated(item: Mapping[str, Any], result: RecipientResult | None) -> dict[str, Any]:
    updated = dict(item)
    if result is None or item["state"] != "pending":
        return updated
    if result.outcome is Outcome.ACCEPTED:
        updated["state"] = "accepted"
    elif result.outcome.is_final:
        updated["state"] = "refused"
    reply = result.reply
    updated |= {
        "code": reply.code if reply else None,
        "enhanced": reply.enhanced if reply else "",
        "text": result.text,
        "at": timezone.now().isoformat(),
    }
    return updated


def _given_up(item: Mapping[str, Any], max_attempts: int) -> dict[str, Any]:
    if item["state"] != "pending":
        return dict(item)
    text = f"given up after {max_attempts} attempts: {item.get('text', '')}"
    return dict(item) | {"state": "refused", "text": text}


def _accepted_code(result: DeliveryResult) -> int | None:
    replies = [item.reply.code for item in result.recipients if item.reply]
    return replies[-1] if replies else None
