"""The states of mail as shapes and words."""

from __future__ import annotations

from collections.abc import Mapping

from emails.models import EmailStatus, RecipientState
from emails.reads import DEAD, PARTIAL, RETRYING
from emails.standing import NOT_CONFIGURED, PAUSED, ChannelItem
from jobs.markup import State
from jobs.reads.words import relative_words

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


def channel_state(channel: ChannelItem) -> State:
    """Return the state of the channel, such as ``paused 3 min``."""
    if channel.state == NOT_CONFIGURED:
        return State(shape="—", tone="quiet", word=NOT_CONFIGURED)
    if channel.state == PAUSED and channel.paused_at is not None:
        lasted = relative_words(channel.paused_at, now=channel.read_at).removesuffix(" ago")
        return State(shape="▲", tone="warn", word=f"{PAUSED} {lasted}")
    return State(shape="●", tone="good", word=channel.state)
