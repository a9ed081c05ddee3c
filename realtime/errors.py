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


class PublishError(RealtimeError, ValueError):
    """Something that cannot be published: which part of it, its value, what to do."""

    def __init__(self, part: str, value: object, advice: str) -> None:
        self.part = part
        self.value = value
        shown = " ".join(repr(value).split())
        super().__init__(f"{part}={shown[:200]} cannot be published: {advice}.")


class PayloadTooLargeError(PublishError):
    """More than a message may hold."""

    def __init__(self, size: int, limit: int) -> None:
        advice = (
            f"it is {size} bytes of JSON and the limit is {limit}: publish the id and let the "
            "client fetch the rest"
        )
        super().__init__("payload", "…", advice)


class DeclarationError(RealtimeError, ValueError):
    """A model's declaration that cannot be kept."""

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(f"{model} cannot be declared for realtime: {problem}.")


class NotDeclaredError(RealtimeError, LookupError):
    """Rows of a model that no declaration speaks of."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"{model} is not declared for realtime: call realtime.declare_model({model}, …) in "
            "the app's module realtime.py."
        )


class OtherDatabaseError(RealtimeError):
    """A change in a database that has no outbox, so that the two cannot be one transaction."""

    def __init__(self, model: str, using: str, home: str) -> None:
        super().__init__(
            f"{model} was changed in the database {using!r}, but the outbox is in {home!r}: a "
            "declared model lives in the outbox's database."
        )
