"""What tests of alerts share: a job that bills orders, a queue of parcels."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jobs.models import JobState
from tests.jobs.alerting import ORDERS, ago, declared, on_time, only_declared, worker
from tests.testapp.models import Parcel

PARCELS = "testapp_parcels"
PARCEL_JOB = "testapp.parcels"


@pytest.fixture
def orders(db):
    """One declared job, on time, with a worker alive."""
    worker()
    with only_declared(), declared():
        on_time()
        yield ORDERS


@pytest.fixture
def parcels(db):
    """The queue of parcels and nothing else, polled just now by a worker that is alive."""
    worker()
    JobState.objects.create(job_id=PARCEL_JOB, last_tick_at=timezone.now())
    with only_declared(PARCEL_JOB):
        yield Parcel


def parcel(status: str = "pending", **fields) -> Parcel:
    row = Parcel.objects.create(address="Elm Street 1")
    claim = {}
    if status == "processing":
        claim = {
            "claimed_at": timezone.now(),
            "claimed_by": "w",
            "claim_token": "5e6b6e0e-0000-4000-8000-000000000000",
            "begun_at": ago(minutes=11),
        }
    Parcel.objects.filter(pk=row.pk).update(status=status, **(claim | fields))
    row.refresh_from_db()
    return row
