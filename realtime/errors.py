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
