"""The workers of the test queues."""

from __future__ import annotations

import logging
import os
import signal
import time
from typing import Any

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from jobs.cadence import Every, Manual
from jobs.claims import ClaimPolicy, Counts, Lease, StaleAfter
from jobs.conf import CLAIM_STALE_MS
from jobs.context import RunContext
from jobs.declarations import job
from jobs.identity import process_name
from jobs.queues import QueueRow
from jobs.workers.queue_pass import GiveUp, Outcome, Waiting, queue_worker
from tests.testapp.models import Crate, Delivery, Letter, Parcel

logger = logging.getLogger(__name__)
CADENCE = Every(ms=200)


def parcel_policy() -> ClaimPolicy:
    kinds = getattr(settings, "PARCEL_KINDS", [])
    return ClaimPolicy(
        model=Parcel,
        only=Q(address__in=kinds) if kinds else Q(),
        counts=Counts.ON_CLAIM,
        max_attempts=5,
        expiry=StaleAfter(ms=CLAIM_STALE_MS.get()),
        handlers=4,
        backoff_ms=(200, 400),
    )


def crate_policy() -> ClaimPolicy:
    return ClaimPolicy(
        model=Crate,
        counts=Counts.ON_CLAIM,
        max_attempts=3,
        expiry=Lease(ms=getattr(settings, "CRATE_LEASE_MS", 60_000)),
        backoff_ms=(200,),
    )


def letter_policy() -> ClaimPolicy:
    return ClaimPolicy(
        model=Letter,
        counts=Counts.IN_CATCH,
        max_attempts=3,
        max_stale_recoveries=2,
        order=("-weight", "id"),
        sort=(F("weight").desc(), Coalesce("next_retry_at", "created_at").asc()),
        handlers=4,
        backoff_ms=(200,),
    )


@queue_worker("testapp.parcels", policy=parcel_policy, cadence=CADENCE, summary="Deliver parcels.")
def deliver_parcel(parcel: Parcel) -> Outcome:
    return follow(parcel)


@queue_worker("testapp.crates", policy=crate_policy, cadence=CADENCE, summary="Deliver crates.")
def deliver_crate(crate: Crate) -> Outcome:
    return follow(crate)


@queue_worker("testapp.letters", policy=letter_policy, cadence=CADENCE, summary="Deliver letters.")
def deliver_letter(letter: Letter) -> Outcome:
    return follow(letter)


def follow(row: Any) -> Outcome:
    """Do what the row says."""
    assert isinstance(row, QueueRow)
    verb, _, argument = row.instruction.partition(" ")
    Delivery.objects.create(queue=row._meta.db_table, row_id=row.pk, worker=process_name())
    match verb:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "sleep":
            time.sleep(float(argument))
        case "fail":
            raise ValueError(argument or "the address does not exist")
        case "wait":
            return Waiting(seconds=float(argument))
        case "give":
            return GiveUp(reason="nobody lives there")
    return None


@job("testapp.stocktaking", cadence=Manual(), summary="Count what is there.")
def take_stock(context: RunContext) -> dict[str, Any]:
    """Do what the setting STOCKTAKING says; run by hand only."""
    match getattr(settings, "STOCKTAKING", ""):
        case "fail":
            raise ValueError("nothing is where it should be")
        case "long":
            while not context.should_stop():
                context.progress(1, 2)
                time.sleep(0.02)
    print("counted")
    logger.info("counted shelves=%s", 3)
    return {"shelves": {"counted": 3}}
