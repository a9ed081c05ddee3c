"""An old and a new version of the code on one queue at once."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.db.models import F

from tests.conftest import wait_until
from tests.crash.harness import Fleet, url_of
from tests.testapp.models import Delivery, Parcel

QUARTER = dt.timedelta(minutes=16)


def add(kind, count):
    return Parcel.objects.bulk_create([Parcel(address=kind) for _ in range(count)])


def statuses(kind):
    return list(Parcel.objects.filter(address=kind).values_list("status", "attempts").distinct())


@pytest.fixture
def versions(transactional_db, tmp_path):
    """Fleets of the old code, which knows letters only, and of the new one."""
    url = url_of(connection.settings_dict)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    with (
        Fleet(tmp_path / "old", database_url=url, PARCEL_KINDS="letter") as old,
        Fleet(tmp_path / "new", database_url=url, PARCEL_KINDS="letter box") as new,
    ):
        yield old, new


@pytest.mark.timeout(150)
def test_kinds_that_a_version_does_not_know_are_left_to_the_one_that_does(versions, figures):
    old, new = versions
    old_worker = old.start("--only", "testapp.parcels")
    add("letter", 10)
    add("box", 5)
    add("crate", 2)
    wait_until(lambda: statuses("letter") == [("done", 1)])
    assert statuses("box") == [("pending", 0)]

    new_worker = new.start("--only", "testapp.parcels")
    add("letter", 10)
    wait_until(lambda: statuses("letter") == statuses("box") == [("done", 1)])

    assert statuses("crate") == [("pending", 0)]
    boxes = Parcel.objects.filter(address="box").values_list("pk", flat=True)
    deliverers = Delivery.objects.filter(row_id__in=boxes).values_list("worker", flat=True)
    assert {name.split(":")[1] for name in deliverers} == {str(new_worker.pid)}
    check = new.run("check_jobs")
    check.wait()
    assert not check.lines("unknown_kind")

    Parcel.objects.filter(address="crate").update(created_at=F("created_at") - QUARTER)
    check = new.run("check_jobs")
    assert check.wait() == 1
    (line,) = check.lines("unknown_kind")
    figures(line=line)
    assert "testapp_parcels" in line
    assert "2 rows" in line
    assert old_worker.stop() == new_worker.stop() == 0


@pytest.mark.timeout(150)
def test_a_worker_of_the_old_code_goes_on_while_the_new_one_takes_over(versions):
    old, new = versions
    first = old.start("--only", "testapp.parcels")
    slow = Parcel.objects.create(address="letter", instruction="sleep 2")
    wait_until(lambda: Delivery.objects.filter(row_id=slow.pk).exists())
    second = new.start("--only", "testapp.parcels")
    second.await_start()
    add("box", 3)

    assert first.stop() == 0

    wait_until(lambda: statuses("box") == [("done", 1)])
    slow.refresh_from_db()
    assert (slow.status, slow.attempts) == ("done", 1)
    assert Delivery.objects.filter(row_id=slow.pk).count() == 1
    assert second.stop() == 0
