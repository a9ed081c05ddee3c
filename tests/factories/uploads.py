"""Upload reservations."""

from __future__ import annotations

import datetime as dt
import uuid

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory

from retention.models import UploadReservation, UploadStatus


class UploadReservationFactory(DjangoModelFactory[UploadReservation]):
    """A reservation whose time has an hour to go."""

    class Meta:
        model = UploadReservation

    owner = "anna"
    endpoint = "file:///srv/objects"
    bucket = "uploads"
    staged_key = factory.LazyFunction(lambda: f"staged/{uuid.uuid4().hex}")
    key = factory.LazyAttribute(lambda row: f"{row.staged_key[7:]}/{row.filename}")
    filename = factory.Sequence(lambda number: f"holiday-{number}.jpg")
    size = 3_500_000
    content_type = "image/jpeg"
    expires_at = factory.LazyFunction(lambda: timezone.now() + dt.timedelta(hours=1))

    class Params:
        kept = factory.Trait(
            status=UploadStatus.COMPLETED,
            completed_at=factory.LazyFunction(timezone.now),
            moving_at=factory.LazyFunction(timezone.now),
        )
        finalising = factory.Trait(
            status=UploadStatus.COMPLETING,
            moving_at=factory.LazyFunction(timezone.now),
            claim_token=factory.LazyFunction(uuid.uuid4),
            claimed_until=factory.LazyFunction(lambda: timezone.now() + dt.timedelta(minutes=15)),
        )
        stuck = factory.Trait(
            status=UploadStatus.EXPIRING,
            tries=3,
            last_error="StoreError: deleting 'staged/x': AccessDenied: not permitted",
        )
        expiring = factory.Trait(status=UploadStatus.EXPIRING)
