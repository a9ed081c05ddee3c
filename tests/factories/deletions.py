"""Rows of deletions."""

from __future__ import annotations

import datetime as dt
import uuid

import factory
from django.utils import timezone

from deletions.models import UserDeletion, UserDeletionStep

STEPS = (
    ("account", "access", "the account can still sign in"),
    ("billing", "external", "the subscription may still be charged"),
    ("rows", "local", "the user and rows that refer to the user are still here"),
)
STATES = {
    "abandoned": ("done", "failed", "todo"),
    "failed": ("done", "failed", "todo"),
    "done": ("done", "done", "done"),
}


class UserDeletionStepFactory(factory.django.DjangoModelFactory):
    """A step that is still to do."""

    class Meta:
        model = UserDeletionStep

    name = "billing"
    half = "external"
    position = 1
    left_behind = "the subscription may still be charged"
    idempotency_key = factory.LazyFunction(lambda: uuid.uuid4().hex)


class UserDeletionFactory(factory.django.DjangoModelFactory):
    """A deletion that waits, with three steps; traits for its other states."""

    class Meta:
        model = UserDeletion
        skip_postgeneration_save = True

    class Params:
        abandoned = factory.Trait(
            status="abandoned",
            attempts=5,
            abandoned_at=factory.LazyFunction(lambda: timezone.now() - dt.timedelta(hours=2)),
            last_error="billing: The billing service answered 503: down",
        )
        retrying = factory.Trait(
            status="failed",
            attempts=1,
            last_error="billing: The billing service answered 503: down",
            next_retry_at=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(minutes=2)),
        )
        processing = factory.Trait(
            status="processing",
            attempts=1,
            claimed_at=factory.LazyFunction(timezone.now),
            claimed_by="web-1:4121:a1b2c3",
            claim_token=factory.LazyFunction(uuid.uuid4),
        )
        done = factory.Trait(
            status="done",
            attempts=1,
            done_at=factory.LazyFunction(timezone.now),
            snapshot={},
        )
        cancelled = factory.Trait(status="cancelled")
        in_two_weeks = factory.Trait(
            not_before=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(days=14)),
            next_retry_at=factory.SelfAttribute("not_before"),
        )

    user_id = factory.Sequence(lambda n: str(900 + n))
    requested_by = "anna"

    @factory.post_generation
    def make_steps(self, create: bool, extracted: object, **_: object) -> None:  # noqa: FBT001
        """Make the steps as a deletion in this state has them."""
        if not create:
            return
        states = STATES.get(str(self.status), ("todo", "todo", "todo"))
        for place, ((name, half, left_behind), state) in enumerate(zip(STEPS, states, strict=True)):
            UserDeletionStepFactory(
                deletion=self,
                name=name,
                half=half,
                position=place,
                left_behind=left_behind,
                state=state,
                done_at=timezone.now() if state in ("done", "skipped") else None,
            )
