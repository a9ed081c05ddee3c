"""What is said when every worker is dead, by a process that needs none."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db.models import F

from jobs.models import JobState, Worker
from tests.conftest import wait_until

HOUR = dt.timedelta(hours=1)


def problems(check):
    """Return the lines of check_jobs that begin with a rule's name."""
    return [line.split()[0] for line in check.output().splitlines() if line[:1].isalpha()]


@pytest.mark.timeout(120)
def test_check_jobs_says_once_that_all_workers_are_dead(make_fleet, figures):
    fleet = make_fleet(EMAIL_DELIVERY_URL="console:")
    workers = [fleet.start() for _ in range(3)]
    for worker in workers:
        worker.await_start()
    wait_until(lambda: JobState.objects.filter(next_due_at__isnull=False).exists())
    wait_until(lambda: Worker.objects.count() == 3)
    for worker in workers:
        worker.kill()
    # An hour goes by.
    Worker.objects.update(heartbeat_at=F("heartbeat_at") - HOUR, started_at=F("started_at") - HOUR)
    JobState.objects.update(
        first_seen_at=F("first_seen_at") - HOUR,
        accounted_until=F("accounted_until") - HOUR,
        next_due_at=F("next_due_at") - HOUR,
        last_tick_at=F("last_tick_at") - HOUR,
    )

    check = fleet.run("check_jobs")

    assert check.wait() == 1, check.output()
    figures(lines=check.output().strip().splitlines())
    assert problems(check) == ["no_worker"]


@pytest.mark.timeout(120)
def test_check_jobs_is_content_again_once_a_worker_is_back(make_fleet):
    fleet = make_fleet(EMAIL_DELIVERY_URL="console:")
    check = fleet.run("check_jobs")
    assert check.wait() == 1
    assert problems(check) == ["no_worker"]

    worker = fleet.start()
    worker.await_start()
    wait_until(Worker.objects.exists)

    check = fleet.run("check_jobs")
    assert check.wait() == 0, check.output()
    assert worker.stop() == 0
