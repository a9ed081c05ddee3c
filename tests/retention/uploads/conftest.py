"""Reservations in a directory of the test's own, and what makes them old."""

from __future__ import annotations

import contextlib
import datetime as dt
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from jobs.objectstore import ObjectStore, open_store
from retention.models import UploadReservation, UploadStatus
from retention.uploads import Reserved, reserve
from retention.uploads.expiring import release_expired
from tests.retention.conftest import context_of

JOB = "retention.uploads"


@pytest.fixture
def objects(settings, tmp_path: Path) -> ObjectStore:
    """Return the store that uploads go to: an empty directory."""
    settings.OBJECT_STORE_URL = (tmp_path / "objects").as_uri()
    return open_store()


@pytest.fixture
def reserved(db, objects) -> Reserved:
    """Return a reservation of five bytes."""
    return reserve("anna", filename="five.txt", size=5)


def put(reserved: Reserved, content: bytes, **headers: str) -> HttpResponse:
    """Upload to this site as a browser does, without a session."""
    path = urlsplit(reserved.url).path
    client = Client(enforce_csrf_checks=True)
    kind = "application/octet-stream"
    answer: Any = client.put(path, content, content_type=kind, headers=headers)
    return answer


def expire(*ids: int) -> None:
    """Make the time of reservations be over since an hour."""
    now = timezone.now()
    UploadReservation.objects.filter(pk__in=ids).update(
        created_at=now - dt.timedelta(hours=2), expires_at=now - dt.timedelta(hours=1)
    )


def release_all() -> dict[str, Any]:
    """Do what the job does; return its summary. Raises ``UploadsNotReleasedError``."""
    return release_expired(context_of(JOB))


@contextlib.contextmanager
def unmounted(directory: Path) -> Iterator[None]:
    """Take the store's directory away for the time of the block."""
    aside = directory.rename(directory.with_name("aside"))
    yield
    aside.rename(directory)


def keys_of(store: ObjectStore, bucket: str = "uploads") -> list[str]:
    return list(store.list_page(bucket).keys)


def statuses() -> Iterator[str]:
    return iter(UploadReservation.objects.order_by("pk").values_list("status", flat=True))


def be_finaliser(reservation: int, *, for_seconds: float) -> None:
    """Be a finaliser that is at it, and is believed to be for so long."""
    now = timezone.now()
    UploadReservation.objects.filter(pk=reservation).update(
        status=UploadStatus.COMPLETING,
        claim_token=uuid.uuid4(),
        claimed_until=now + dt.timedelta(seconds=for_seconds),
        moving_at=now,
    )


def set_status(reserved: Reserved, status: UploadStatus) -> None:
    UploadReservation.objects.filter(pk=reserved.id).update(status=status)
