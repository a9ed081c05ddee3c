"""Steps of a project, for tests."""

from __future__ import annotations

import datetime as dt
import os
import signal
from typing import Any

from django.conf import settings

from deletions import StepCall
from jobs import clock
from jobs.workers.queue_pass import Waiting
from tests.deletions.shop.models import Call


def note(name: str, call: StepCall) -> None:
    Call.objects.create(step=name, user_id=call.user_id)


class KillWorker:
    """Kills the process that runs it, as a lack of memory does."""

    name = "killer"
    half = "external"
    left_behind = "the killer was not survived"

    def run(self, call: StepCall) -> None:
        note(self.name, call)
        os.kill(os.getpid(), signal.SIGKILL)


class NewsletterList:
    """Another external service; fails while the setting says so."""

    name = "newsletter"
    half = "external"
    left_behind = "the user still gets the newsletter"

    def run(self, call: StepCall) -> None:
        note(self.name, call)
        if getattr(settings, "NEWSLETTER_FAILS", False):
            raise RuntimeError("no answer from the newsletter, token=abc123")


class Warehouse:
    """Waits until the instant of the setting, by the engine's clock."""

    name = "warehouse"
    half = "external"
    left_behind = "parcels of the user are still stored"

    def run(self, call: StepCall) -> Waiting | None:
        note(self.name, call)
        until: dt.datetime = settings.WAREHOUSE_EMPTY_AT
        if (clock.frozen_at() or dt.datetime.now(dt.UTC)) < until:
            call.say("3 parcels left")
            return Waiting(seconds=60)
        return None


class Counter:
    """Needs nobody to wait for it."""

    name = "counter"
    half = "external"
    blocking = False
    left_behind = "the user is still counted"

    def run(self, call: StepCall) -> None:
        note(self.name, call)
        if getattr(settings, "COUNTER_FAILS", False):
            raise RuntimeError("no counter")


class Wordy:
    name = "wordy"
    half = "local"
    left_behind = "words"

    def run(self, call: StepCall) -> str:
        return "done I think"


def snapshot(user: Any) -> dict[str, Any]:
    return {"billing_customer": f"cus_{user.username}", "shelf": 7}


def bad_snapshot(user: Any) -> list[Any]:
    return [user]
