from __future__ import annotations

import io
import threading
from typing import Self

import pytest
from django.db import connection

from jobs.cadence import Every
from jobs.declarations import registry
from jobs.models import JobRun
from jobs.objectstore import ObjectStore
from jobs.testing import run_once
from retention.models import UploadReservation, UploadStatus
from retention.uploads import abort, finalize, reserve, usage_of
from retention.uploads.errors import (
    ReservationStateError,
    UnknownReservationError,
    UploadsNotReleasedError,
)
from retention.uploads.expiring import release_expired
from tests.forms import form
from tests.retention.conftest import context_of
from tests.retention.uploads.conftest import (
    JOB,
    expire,
    keys_of,
    put,
    release_all,
    statuses,
    unmounted,
)


@pytest.mark.django_db
def test_what_was_never_finalised_is_released_with_its_object_and_quota(objects, reserved):
    put(reserved, b"hello")
    unused = reserve("anna", filename="unused", size=9)
    live = reserve("anna", filename="live", size=1)
    expire(reserved.id, unused.id)

    summary = release_all()

    assert summary == {"released": 2, "cleared": 0, "failed": 0}
    assert keys_of(objects) == []
    assert list(UploadReservation.objects.values_list("pk", flat=True)) == [live.id]
    assert usage_of("anna").bytes == 1


@pytest.mark.django_db
def test_the_job_runs_every_five_minutes(objects):
    declaration = registry.get(JOB)

    assert declaration.singleton
    assert declaration.cadence == Every(seconds=300)


@pytest.mark.django_db
def test_an_upload_that_is_still_going_on_is_aborted(objects, reserved):
    from jobs.objectstore.files.writing import Upload

    objects.create_bucket("uploads")
    row = UploadReservation.objects.get()
    expire(reserved.id)

    with Upload(objects.root, "uploads", row.staged_key.split("/")) as upload:
        assert release_all()["released"] == 1
        with pytest.raises(Exception, match="aborted meanwhile"):
            upload.finish()

    assert keys_of(objects) == []


@pytest.mark.django_db
def test_a_bucket_that_is_not_there_holds_no_reservation_back(objects, reserved):
    objects.drop_bucket("uploads")
    expire(reserved.id)

    assert release_all()["released"] == 1


@pytest.mark.django_db
def test_a_store_that_fails_keeps_row_and_quota_and_shows_the_error(objects, reserved, tmp_path):
    put(reserved, b"hello")
    expire(reserved.id)

    with unmounted(tmp_path / "objects"), pytest.raises(UploadsNotReleasedError) as failed:
        release_all()

    assert failed.value.output["failed"] == 1
    assert "is not there" in failed.value.output["error"]
    row = UploadReservation.objects.get()
    assert (row.status, row.tries) == ("expiring", 1)
    assert "is not there" in row.last_error
    assert usage_of("anna").slots == 1
    assert release_all()["released"] == 1
    assert usage_of("anna").slots == 0


@pytest.mark.django_db
def test_one_endpoint_that_leads_nowhere_does_not_hold_the_others_back(objects):
    first = reserve("anna", filename="a", size=1)
    second = reserve("anna", filename="b", size=1)
    UploadReservation.objects.filter(pk=first.id).update(endpoint="gopher://nowhere")
    expire(first.id, second.id)

    with pytest.raises(UploadsNotReleasedError) as failed:
        release_all()

    assert (failed.value.output["released"], failed.value.output["failed"]) == (1, 1)
    assert list(UploadReservation.objects.values_list("pk", flat=True)) == [first.id]


@pytest.mark.django_db(transaction=True)
def test_a_failed_pass_is_a_failed_run_with_its_summary(objects):
    reserved = reserve("anna", filename="a", size=1)
    UploadReservation.objects.update(endpoint="gopher://nowhere")
    expire(reserved.id)

    run = run_once(JOB)

    assert isinstance(run, JobRun)
    assert run.status == "failed"
    assert run.output["failed"] == 1
    assert "1 reservations could not be released" in run.error


@pytest.mark.django_db
def test_a_shutdown_ends_a_pass_between_two_reservations(objects):
    rows = [reserve("anna", filename="a", size=1) for _ in range(3)]
    expire(*(row.id for row in rows))
    context = context_of(JOB)
    context.stop.set()

    assert release_expired(context)["released"] == 0
    assert list(statuses()) == ["expiring"] * 3
    assert release_all()["released"] == 3


@pytest.mark.django_db
def test_a_released_row_is_never_finalised_after_it(objects, reserved):
    put(reserved, b"hello")
    expire(reserved.id)
    release_all()

    with pytest.raises(UnknownReservationError):
        finalize(reserved.id)


@pytest.mark.timeout(form(short=60, full=600))
@pytest.mark.django_db(transaction=True)
def test_finaliser_and_expirer_race_and_one_wins_each_time(objects):
    rounds = form(short=40, full=1000)

    with Finaliser(rounds) as finaliser:
        for number in range(rounds):
            row = staged_and_expired(objects)
            released = finaliser.race(row, head_start=number % 50 * 200)

            left = UploadReservation.objects.filter(pk=row.pk).first()
            if finaliser.kept[-1]:
                assert released == 0
                assert left is not None
                assert left.status == UploadStatus.COMPLETED
                assert keys_of(objects) == [row.key]
            else:
                assert released == 1
                assert left is None
                assert keys_of(objects) == []
            UploadReservation.objects.all().delete()
            objects.delete("uploads", row.key)

    print(f"{rounds} races: the finaliser won {sum(finaliser.kept)}")
    assert len(finaliser.kept) == rounds
    assert 0 < sum(finaliser.kept) < rounds


class Finaliser:
    """A thread that finalises at the moment at which this one releases."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.kept: list[bool] = []
        self._turn = threading.Barrier(2)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_args: object) -> None:
        self._turn.abort()
        self._thread.join(timeout=30)

    def race(self, row: UploadReservation, *, head_start: int) -> int:
        """Return how many the pass has released; the other's outcome is the last of ``kept``."""
        self._row = row
        self._turn.wait(timeout=30)
        for _ in range(head_start):  # by another bit each time
            pass
        released = release_all()["released"]
        self._turn.wait(timeout=30)
        return int(released)

    def _run(self) -> None:
        try:
            for _ in range(self.rounds):
                self._turn.wait(timeout=30)
                self.kept.append(self._finalize())
                self._turn.wait(timeout=30)
        except threading.BrokenBarrierError:
            return
        finally:
            connection.close()

    def _finalize(self) -> bool:
        try:
            finalize(self._row.pk)
        except (ReservationStateError, UnknownReservationError):
            return False
        return True


def staged_and_expired(objects: ObjectStore) -> UploadReservation:
    reserved = reserve("anna", filename="a", size=5)
    row = UploadReservation.objects.get(pk=reserved.id)
    objects.write("uploads", row.staged_key, io.BytesIO(b"hello"))
    expire(reserved.id)
    return row


@pytest.mark.django_db(transaction=True)
def test_two_passes_at_once_release_each_once(objects):
    ids = [reserve("anna", filename="a", size=1).id for _ in range(40)]
    expire(*ids)
    errors: list[BaseException] = []

    def pass_once() -> None:
        try:
            release_all()
        except BaseException as error:  # noqa: BLE001 (told by the test)
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=pass_once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert errors == []
    assert not UploadReservation.objects.exists()


@pytest.mark.django_db
def test_what_was_aborted_while_the_store_was_down_is_released_by_the_job(
    objects, reserved, tmp_path
):
    with unmounted(tmp_path / "objects"):
        assert not abort(reserved.id)
    assert usage_of("anna").slots == 1

    assert release_all()["released"] == 1
