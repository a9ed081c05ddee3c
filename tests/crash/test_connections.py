"""What a worker takes of the server."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from tests.conftest import wait_until
from tests.testapp.models import Letter, Parcel


def backends():
    """Return how many connections others have to this database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cursor.fetchone()[0]


def work_off(count):
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(count)])
    Letter.objects.bulk_create([Letter() for _ in range(count)])
    for model in (Parcel, Letter):
        wait_until(
            lambda model=model: not model.objects.exclude(status="done").exists(), seconds=80
        )


@pytest.mark.timeout(150)
def test_a_thousand_rows_in_eight_threads_leave_no_connection_behind(make_fleet, figures):
    others = backends()  # of tests before this one
    fleet = make_fleet()
    worker = fleet.start("--only", "testapp.parcels", "testapp.letters")
    worker.await_start()
    work_off(40)  # by then every thread has its own
    before = backends() - others

    work_off(500)

    after = backends() - others
    most = int(re.search(r"(\d+) database connections at most", worker.output())[1])
    figures(connections_before=before, after=after, announced=most)
    assert after <= before + 1
    assert after <= most
    assert worker.stop() == 0
    wait_until(lambda: backends() <= others)
