"""The states of mail as shapes and words."""

from __future__ import annotations

from collections.abc import Mapping

from emails.models import EmailStatus, RecipientState
from emails.reads import DEAD, PARTIAL, RETRYING
from jobs.markup import State

EMAIL_STATES: Mapping[str, State] = {
    EmailStatus.PENDING: State(shape="○", tone="quiet", word="pending"),
    EmailStatus.PROCESSING: State(shape="◐", tone="busy", word="processing"),
    EmailStatus.SENT: State(shape="●", tone="good", word="sent"),
    PARTIAL: State(shape="▲", tone="warn", word="sent in part"),
    RETRYING: State(shape="▲", tone="warn", word="retrying"),
    DEAD: State(shape="■", tone="bad", word="dead letter"),
    EmailStatus.CANCELLED: State(shape="—", tone="quiet", word="cancelled"),
}
RECIPIENT_STATES: Mapping[str, State] = {
    RecipientState.PENDING: State(shape="○", tone="quiet", word="pending"),
    RecipientState.ACCEPTED: State(shape="●", tone="good", word="accepted"),
    RecipientState.REFUSED: State(shape="■", tone="bad", word="refused"),
    RecipientState.SUPPRESSED: State(shape="—", tone="quiet", word="suppressed"),
}
