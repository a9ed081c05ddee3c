"""What an attempt makes of a mail's recipients, and so of the mail. Pure."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from emails.envelopes import DeliveryResult, RecipientResult
from emails.replies import Outcome, Reply, Stage

Recipients = Sequence[Mapping[str, Any]]
# A channel that fails here every time may do so because of this very mail.
ITS_OWN = frozenset([Stage.RCPT, Stage.DATA, Stage.DOT])
SAID = frozenset(["state", "code", "enhanced", "text", "at"])  # of a recipient, by a reply


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
    recipients: Recipients,
    result: DeliveryResult,
    *,
    attempts: int,
    max_attempts: int,
    is_patient: bool = True,
) -> Settlement:
    """
    Return what becomes of a mail after an attempt.

    ``attempts`` are those counted before it. At the last one, recipients that used it up are
    given up if others were accepted or still wait, so that the mail is ``sent`` with the
    outcome ``partial``; if there are none, it is a dead letter by the cap. Recipients that
    only wait, for their domain or the channel, cost no attempt while ``is_patient``.
    """
    by_address = {item.address: item for item in result.recipients}
    updated = [_updated(item, by_address.get(item["address"])) for item in recipients]
    costly = {
        item["address"]
        for item in updated
        if item["state"] == "pending"
        and _costs(by_address.get(item["address"]), result, is_patient=is_patient)
    }
    counts = bool(costly)
    others = any(
        item["state"] == "accepted"
        or (item["state"] == "pending" and item["address"] not in costly)
        for item in updated
    )
    if counts and others and attempts + 1 >= max_attempts:
        updated = [
            _given_up(item, max_attempts) if item["address"] in costly else item for item in updated
        ]
        counts = False
    problem = result.first_problem
    return Settlement(
        verdict=verdict_of(updated, counts=counts),
        recipients=updated,
        outcome=outcome_of(updated),
        problem=f"{problem.address}: {problem.text}" if problem else "",
        code=problem.reply.code if problem and problem.reply else _accepted_code(result),
        uncertain=result.uncertain,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Acceptance:
    """
    What a mail's row is to say when a server takes the mail for all that are pending.

    Written down before it is known what the server says, as far as that is possible: a mail
    waits for what is left to do then.
    """

    outcome: str
    recipients: tuple[str, ...]  # as JSON, in pieces: what the server said goes between them

    def recipients_by(self, reply: Reply, *, at: str) -> str:
        """Return the recipients as JSON, after the server said this then."""
        said = (
            f'"state":"accepted","code":{reply.code},"enhanced":"{reply.enhanced}",'
            f'"text":{json.dumps(str(reply))},"at":"{at}"'
        )
        return said.join(self.recipients)


def acceptance_of(recipients: Recipients) -> Acceptance:
    """Return what is to be written of a mail with these recipients once it is taken."""
    pieces, text = [], "["
    for place, item in enumerate(recipients):
        text += "," if place else ""
        if item["state"] == "pending":
            kept = {name: value for name, value in item.items() if name not in SAID}
            pieces.append(f"{text}{json.dumps(kept)[:-1]},")
            text = "}"
        else:
            text += json.dumps(item)
    return Acceptance(outcome=outcome_of(recipients), recipients=(*pieces, f"{text}]"))


def outcome_of(recipients: Recipients) -> str:
    """Return the outcome of a mail that was sent to somebody: did all get it?"""
    left_out = any(item["state"] in ("refused", "suppressed") for item in recipients)
    return "partial" if left_out else ""


def verdict_of(recipients: Recipients, *, counts: bool) -> Verdict:
    """Return what the recipients' states make of a mail; ``counts``: an attempt was used up."""
    states = {item["state"] for item in recipients}
    if "pending" in states:
        return Verdict.RETRY if counts else Verdict.GIVE_BACK
    return Verdict.SENT if "accepted" in states else Verdict.DEAD


def _costs(result: RecipientResult | None, whole: DeliveryResult, *, is_patient: bool) -> bool:
    """Say whether a recipient that is still pending has used up an attempt."""
    if result is not None and result.outcome.counts_an_attempt:
        return True
    if is_patient:
        return False
    if result is None or result.outcome is Outcome.THROTTLED_DOMAIN:
        return True  # its domain waits, tried or not
    error = whole.channel_error
    return result.outcome is Outcome.CHANNEL and error is not None and error.stage in ITS_OWN


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
    text = f"given up after {max_attempts} attempts: {item.get('text', '')}"
    return dict(item) | {"state": "refused", "text": text}


def _accepted_code(result: DeliveryResult) -> int | None:
    replies = [item.reply.code for item in result.recipients if item.reply]
    return replies[-1] if replies else None
