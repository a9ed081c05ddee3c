"""What mails of several conversations have come to, in one commit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from emails.replies import read_reply
from emails.streaming.ride import Ride
from emails.streaming.steps import Step, StepName, going, sent, values_of
from jobs.claims import Claim
from jobs.claims.settlement import Settlement
from jobs.writers import Writer

Arrived = tuple[Ride, Step]  # with what is to be written of it


class Commit:
    """
    That mails are sent, that the final dots of others go out next, and that more begin.

    On its way from the moment it is made.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        sent: Sequence[Arrived],
        dots: Sequence[Ride],
        begun: Sequence[Ride],
    ) -> None:
        """Send it."""
        self.sent = [ride for ride, _ in sent]
        self._stay = [*dots, *begun]
        self._writer = writer
        self._settlements: list[Settlement] = []
        with contextlib.ExitStack() as stack:
            held = self._settle(stack)
            steps = [going(StepName.DOT, ride) for ride in dots]
            steps += [going(StepName.BEGUN, ride) for ride in begun]
            steps += [step for ride, step in sent if ride.row_id in held]
            self.is_waited_for = writer.begin(values_of(steps))
            self._stack = stack.pop_all()

    def finish(self) -> set[int]:
        """
        Wait for it; return the ids of those that this worker still held.

        If it raises, nothing was done.
        """
        with self._stack:
            changed = self._writer.answer()
            for settlement in self._settlements:
                settlement.changed = changed
        for ride in self._stay:
            if ride.row_id not in changed:
                ride.claim.report_lost_among([ride.row_id], changed)
        return changed

    def _settle(self, stack: contextlib.ExitStack) -> set[int]:
        held: set[int] = set()
        for claim, ids in _by_claim(self.sent).items():
            settlement = stack.enter_context(claim.settlement(ids))
            held.update(settlement.ids)
            self._settlements.append(settlement)
        return held


def _by_claim(rides: Iterable[Ride]) -> dict[Claim, list[int]]:
    found: dict[Claim, list[int]] = {}
    for ride in rides:
        found.setdefault(ride.claim, []).append(ride.row_id)
    return found


def arrival(ride: Ride, raw: bytes, *, at: str) -> Step:
    """Return the last step of a mail, to whose final dot the server has said this then."""
    acceptance = ride.acceptance
    assert acceptance is not None, "nothing was said of it"
    reply = read_reply(raw)
    recipients = acceptance.recipients_by(reply, at=at)
    return sent(ride, recipients, outcome=acceptance.outcome, code=reply.code)
