"""What realtime refuses."""

from __future__ import annotations

from collections.abc import Sequence


class RealtimeError(Exception):
    """Any refusal of realtime."""


class EmptyRecipientsError(RealtimeError):
    """A message to nobody, or to everybody and somebody."""

    def __init__(self, mode: str, keys: Sequence[str]) -> None:
        if keys:
            text = f"A message to the whole topic names no recipients, but it names {len(keys)}."
        else:
            text = f"A message to {mode} names none: make no message for nobody."
        super().__init__(text)


class BusTextError(RealtimeError):
    """A text on the bus that no version of this code has written."""

    def __init__(self, text: str) -> None:
        super().__init__(f"Not a message of this bus: {text[:200]!r}.")


class TokenRefusedError(RealtimeError):
    """A token that signs nobody in."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The token {why}: ask the site for a new one.")


class BusyError(RealtimeError):
    """More waits for the database than the gateway keeps waiting."""

    def __init__(self, most: int) -> None:
        super().__init__(f"More than {most} calls wait for the database: try again in a while.")


class SubscriptionRefusedError(RealtimeError):
    """A subscription that is not made; the code goes to the client."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(f"The subscription is refused: {code}.")


class SharedEmitError(RealtimeError):
    """An emit past the one place that knows whom a message is for."""

    def __init__(self, event: object) -> None:
        super().__init__(
            f"{event!r} is not emitted: an empty audience would be everybody. "
            "Publish with realtime.publish()."
        )
