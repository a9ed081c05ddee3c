"""Claims of mail: none while the channel is paused, one when it is to be tried again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from emails.channel import Admission, Channel
from emails.gate import admit
from emails.models import EmailJob
from emails.screening import Screen
from emails.throttles import Throttles
from jobs.claims import Claim, ClaimPolicy, claim_rows
from jobs.context import RunContext
from jobs.workers.queue_pass import QueuePass, queue_threads

if TYPE_CHECKING:
    from emails.processor import MailWork


class MailPass(QueuePass):
    """A pass over the mail queue."""

    def __init__(self, context: RunContext, policy: ClaimPolicy, work: MailWork) -> None:
        super().__init__(context, policy, work, queue_threads.of(policy))
        self._mail_work = work
        self._channel: Channel = work.channel
        self._throttles: Throttles = work.throttles
        self._screen: Screen = work.screen

    def claim(self, *, limit: int) -> Claim | None:
        """Claim as much as the channel admits, and look at it before it is sent."""
        match admit(self._channel, self._throttles):
            case Admission.SHUT:
                return None
            case Admission.PROBE:
                claim = self._looked_at(1)
                if claim is None:
                    self._channel.leave()
                else:
                    self._mail_work.probe = claim.rows[0].pk
                return claim
            case Admission.OPEN:
                return self._looked_at(limit)

    @property
    def is_held(self) -> bool:
        """Whether the channel was found to be paused: what has not begun goes back."""
        return self._channel.is_paused

    def _looked_at(self, limit: int) -> Claim | None:
        claim = claim_rows(self.policy, limit=limit)
        if claim is not None:
            self._screen.look(claim)
            self._mail_work.bodies.read_ahead(cast("Sequence[EmailJob]", claim.rows))
        return claim
