"""What keeps mail back, read in one round trip before each claim."""

from __future__ import annotations

from emails.channel import Admission, Channel
from emails.statements import fetch
from emails.throttles import Throttles
from jobs import clock

MOST_DOMAINS = 10_000  # that are known at a time


def admit(channel: Channel, throttles: Throttles) -> Admission:
    """Say whether mail may be claimed, as `Channel.admit`; tell `throttles` which domains wait."""
    [(is_paused, seconds)] = fetch(
        "mail_gate", fingerprint=channel.fingerprint, now=clock.frozen_at(), most=MOST_DOMAINS
    )
    throttles.know(seconds or {})
    if is_paused:
        return channel.admit()
    channel.is_paused = False
    return Admission.OPEN
