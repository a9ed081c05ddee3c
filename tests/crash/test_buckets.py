"""Buckets deleted by real workers that are killed, stopped, and more than the limit allows."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from django.db import connection, connections

import deletions
from deletions.models import BucketDeletionJob
from tests.conftest import wait_until
from tests.deletions.buckets.filling import lay_out
from tests.forms import FULL, only_in_full
from tests.stores.rclone import Rclone
from tests.testapp.models import Parcel

pytestmark = pytest.mark.stores
OBJECTS = 20_000 if FULL else 4_000
LEASE_MS = "3000"
ONLY = ("--only", "deletions.buckets")


@pytest.fixture
def make_store(tmp_path, settings) -> Iterator[Callable[[dict[str, int]], Rclone]]:
    """Start an ``rclone serve s3`` with buckets of so many objects, as the site's store."""
    servers = []

    def make(buckets: dict[str, int]) -> Rclone:
        server = Rclone(tmp_path / "store")
        servers.append(server)
        # Before it starts: it reads a directory once.
        for bucket, count in buckets.items():
            lay_out(server.data / bucket, objects(count))
        server.start()
        settings.OBJECT_STORE_URL = server.endpoint
        return server

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def start_fleet(make_fleet):
    """Return a fleet whose workers look at the store."""

    def start(store: Rclone, **environment: str):
        return make_fleet(
            OBJECT_STORE_URL=store.endpoint,
            BUCKET_DELETION_LEASE_MS=LEASE_MS,
            BUCKET_DELETION_POLL_MS="100",
            **environment,
        )

    return start


class Samples(threading.Thread):
    """Asks a query over and over, on a connection of its own, and keeps what changes."""

    def __init__(self, query: str) -> None:
        super().__init__(daemon=True)
        self.query, self.seen = query, []
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join(30)

    def run(self) -> None:
        while not self._ended.is_set():
            with connection.cursor() as cursor:
                cursor.execute(self.query)
                found = cursor.fetchone()
            if not self.seen or self.seen[-1] != found:
                self.seen.append(found)
            self._ended.wait(0.002)
        connections.close_all()


def objects(count: int) -> list[str]:
    return [f"dir{number // 1000:02}/object-{number:05}" for number in range(count)]


def left_in(directory: Path) -> int:
    return sum(path.is_file() for path in directory.rglob("*"))


def row(job: BucketDeletionJob) -> dict[str, object]:
    return BucketDeletionJob.objects.filter(pk=job.pk).values().get()


def is_done(*jobs: BucketDeletionJob) -> bool:
    ids = [job.pk for job in jobs]
    return BucketDeletionJob.objects.filter(pk__in=ids, status="done").count() == len(ids)


@pytest.mark.timeout(300)
def test_another_worker_finishes_what_a_killed_one_began_and_the_count_never_falls(
    make_store, start_fleet, figures
):
    store = make_store({"photos": OBJECTS})
    fleet = start_fleet(store)
    owner = Parcel.objects.create(address="photos")  # the row of the app that has the bucket
    job = deletions.delete_bucket("photos", requested_by="anna")
    query = "SELECT deleted_objects, total_objects FROM bucket_deletion_jobs"

    with Samples(query) as samples:
        first = fleet.start(*ONLY)
        wait_until(lambda: row(job)["deleted_objects"] >= OBJECTS // 5, seconds=120)
        first.kill()
        at_the_kill = row(job)
        owner.delete()
        second = fleet.start(*ONLY)
        wait_until(lambda: is_done(job), seconds=200)
    second.stop()

    assert 0 < at_the_kill["deleted_objects"] < OBJECTS
    after = row(job)
    assert (after["total_objects"], after["deleted_objects"]) == (OBJECTS, OBJECTS)
    assert (after["status"], after["bucket_name"], after["attempts"]) == ("done", "photos", 0)
    deleted = [count for count, _ in samples.seen]
    assert deleted == sorted(deleted)
    assert {total for _, total in samples.seen} == {None, OBJECTS}
    assert not (store.data / "photos").exists()
    figures(objects=OBJECTS, at_the_kill=at_the_kill["deleted_objects"], steps=len(set(deleted)))


@pytest.mark.timeout(300)
def test_five_jobs_and_two_workers_never_have_more_than_two_leases_alive(
    make_store, start_fleet, figures
):
    names = [f"bucket-{number}" for number in range(5)]
    store = make_store(dict.fromkeys(names, OBJECTS // 10))
    fleet = start_fleet(store)
    workers = [fleet.start(*ONLY), fleet.start(*ONLY)]
    for worker in workers:
        worker.await_start()
    query = (
        "SELECT count(*), count(DISTINCT claimed_by) FROM bucket_deletion_jobs"
        " WHERE status = 'processing' AND lease_expires_at > clock_timestamp()"
    )

    with Samples(query) as samples:
        jobs = [deletions.delete_bucket(name) for name in names]
        wait_until(lambda: is_done(*jobs), seconds=200)
    assert [worker.stop() for worker in workers] == [0, 0]

    assert max(alive for alive, _ in samples.seen) == 2
    assert [row(job)["deleted_objects"] for job in jobs] == [OBJECTS // 10] * 5
    assert list(store.data.iterdir()) == []
    figures(jobs=5, most_leases=2, changes=len(samples.seen))


@only_in_full
@pytest.mark.timeout(300)
def test_a_worker_that_stood_still_past_its_lease_changes_nothing_and_deletes_no_more(
    make_store, start_fleet
):
    store = make_store({"photos": OBJECTS})
    fleet = start_fleet(store)
    job = deletions.delete_bucket("photos")
    first = fleet.start(*ONLY)
    wait_until(lambda: row(job)["deleted_objects"], seconds=120)
    first.send(signal.SIGSTOP)
    assert row(job)["status"] == "processing"
    second = fleet.start(*ONLY)
    wait_until(lambda: is_done(job), seconds=200)
    second.stop()
    # Somebody else's bucket of the same name, with the very keys that the first knows of.
    store.close()
    lay_out(store.data / "photos", objects(OBJECTS))
    store.start()
    before = row(job)

    first.send(signal.SIGCONT)

    first.await_output(f"bucket_deletion_lost id={job.pk}")
    assert first.stop() == 0
    assert row(job) == before
    assert left_in(store.data / "photos") == OBJECTS


@pytest.mark.skipif(not FULL, reason="the same within one process is quicker: ENGINEROOM_FULL=1")
@pytest.mark.timeout(300)
def test_a_deploy_in_the_middle_gives_the_row_back_and_spends_no_attempt(make_store, start_fleet):
    store = make_store({"photos": OBJECTS})
    fleet = start_fleet(store)
    job = deletions.delete_bucket("photos")
    worker = fleet.start(*ONLY)
    wait_until(lambda: row(job)["deleted_objects"], seconds=120)

    assert worker.stop() == 0

    found = row(job)
    assert (found["status"], found["attempts"], found["interruptions"]) == ("pending", 0, 0)
    assert (found["claim_token"], found["lease_expires_at"]) == (None, None)
    assert 0 < found["deleted_objects"] < OBJECTS
    assert 0 < left_in(store.data / "photos") < OBJECTS
