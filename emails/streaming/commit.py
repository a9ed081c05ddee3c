"""What mails of several conversations have come to, in one commit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from emails.recipients import accepted_by, outcome_of
from emails.replies import read_reply
from emails.streaming.ride import Ride
from emails.streaming.steps import Step, StepName, write_steps
from jobs.claims import Claim

Accepted = tuple[Ride, bytes]  # with the reply to its final dot


def commit(*, sent: Sequence[Accepted], dots: Iterable[Ride], begun: Iterable[Ride]) -> set[int]:
    """
    Commit that mails are sent, that the final dots of others go out next, and that more begin.

    Returns the ids of those that this worker still held. If it raises, nothing was done.
    """
    steps = [_plain(StepName.DOT, ride) for ride in dots]
    steps += [_plain(StepName.BEGUN, ride) for ride in begun]
    with contextlib.ExitStack() as stack:
        held: set[int] = set()
        settlements = []
        for claim, rides in _by_claim(ride for ride, _ in sent).items():
            settlement = stack.enter_context(claim.settlement(ride.mail for ride in rides))
            held.update(settlement.ids)
            settlements.append(settlement)
        stays = len(steps)
        steps += [_sent(ride, reply) for ride, reply in sent if ride.mail.pk in held]
        changed = write_steps(steps) if steps else set()
        for settlement in settlements:
            settlement.changed = changed
    for step in steps[:stays]:
        if step.row_id not in changed:
            step.claim.report_lost_among([step.row_id], changed)
    return changed


def _by_claim(rides: Iterable[Ride]) -> dict[Claim, list[Ride]]:
    found: dict[Claim, list[Ride]] = {}
    for ride in rides:
        found.setdefault(ride.claim, []).append(ride)
    return found


def _plain(name: StepName, ride: Ride) -> Step:
    return Step(name=name, claim=ride.claim, row_id=ride.mail.pk)


def _sent(ride: Ride, raw: bytes) -> Step:
    reply = read_reply(raw)
    recipients = accepted_by(ride.screened.recipients, reply)
    return Step(
        name=StepName.SENT,
        claim=ride.claim,
        row_id=ride.mail.pk,
        recipients=recipients,
        outcome=outcome_of(recipients),
        code=reply.code,
    )
