"""The command itself: what it chooses, prints and ends with."""

from __future__ import annotations

import io

import pytest
from django.core.mail import send_mail
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from jobs.models import JobRun, Worker
from jobs.requests import request_run
from tests.testapp.models import Letter, Parcel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _keep_signals():
    import signal

    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def run(*arguments, **options):
    output = io.StringIO()
    call_command("runworkers", *arguments, stdout=output, **options)
    return output.getvalue()


def refusal(*arguments):
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    return refused.value


def test_workers_that_are_off_say_so_and_do_nothing(settings):
    settings.ENGINEROOM_WORKERS = False
    Parcel.objects.create(address="a")

    for options in ((), ("--once",), ("--drain",)):
        assert "ENGINEROOM_WORKERS=off" in run(*options)

    assert Parcel.objects.get().status == "pending"


def test_the_list_names_each_job_with_its_cadence():
    lines = run("--list").splitlines()

    assert any(line.split()[:2] == ["emails.processor", "every"] for line in lines)
    assert len(run("--list", "--only", "testapp.parcels").splitlines()) == 1


def test_an_unknown_job_is_wrong_usage_and_the_nearest_is_named():
    for option in ("--only", "--exclude"):
        refused = refusal("--list", option, "testapp.parcel")
        assert refused.returncode == 2
        assert "testapp.parcels" in str(refused)


def test_nothing_left_to_run_is_wrong_usage():
    refused = refusal("--list", "--only", "testapp.parcels", "--exclude", "testapp.parcels")

    assert refused.returncode == 2


def test_a_wrong_setting_is_wrong_usage(settings):
    settings.WORKER_CLAIM_STALE_MS = -1

    refused = refusal("--list")

    assert refused.returncode == 2
    assert str(refused).startswith("WORKER_CLAIM_STALE_MS=-1 is not allowed: ")


def test_once_runs_one_pass_of_each_job_and_ends(settings):
    settings.ENGINEROOM_WORKERS = True
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(7)])
    Letter.objects.create()

    output = run("--once", "--only", "testapp.parcels", "testapp.letters")

    assert "testapp.parcels: 7 claimed, 7 done" in output
    assert Parcel.objects.filter(status="done").count() == 7
    assert Letter.objects.get().status == "done"
    assert set(JobRun.objects.values_list("job_id", flat=True)) == {
        "testapp.parcels",
        "testapp.letters",
    }


def test_once_leaves_a_retry_to_its_time_and_drain_does_not_wait_for_it(settings):
    settings.ENGINEROOM_WORKERS = True
    Letter.objects.create(instruction="fail")

    for option in ("--once", "--drain"):
        run(option, "--only", "testapp.letters")
        assert Letter.objects.get().status == "failed"


def test_drain_goes_on_until_nothing_is_due(settings):
    settings.ENGINEROOM_WORKERS = True
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(120)])

    run("--drain", "--only", "testapp.parcels")

    assert set(Parcel.objects.values_list("status", flat=True)) == {"done"}


def test_a_process_that_has_ended_on_purpose_has_signed_off(settings):
    settings.ENGINEROOM_WORKERS = True
    settings.WORKER_CLAIM_STALE_MS = 1000
    Parcel.objects.create(address="a", instruction="sleep 1")  # longer than a third of the window

    run("--once", "--only", "testapp.parcels")

    assert Worker.objects.get().stopped_at is not None


def exit_code(*arguments):
    with pytest.raises(SystemExit) as left:
        run(*arguments)
    return left.value.code


def test_a_failed_run_among_single_passes_is_a_problem_found(settings):
    settings.ENGINEROOM_WORKERS = True
    settings.STOCKTAKING = "fail"
    request_run("testapp.stocktaking", requested_by="anna")

    assert exit_code("--once", "--only", "testapp.stocktaking") == 1


def test_drain_ends_with_a_problem_when_due_rows_are_not_taken(settings, queue_backend):
    settings.ENGINEROOM_WORKERS = True
    settings.EMAIL_DELIVERY_URL = ""  # mail waits for a delivery to be configured
    send_mail("s", "b", "shop@example.com", ["a@example.com"])

    assert exit_code("--drain", "--only", "emails.processor") == 1


@pytest.mark.parametrize("option", [(), ("--once",)])
def test_a_database_older_than_the_code_is_refused(settings, option):
    settings.ENGINEROOM_WORKERS = True
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("testapp", "0003_realtime")

    try:
        refused = refusal(*option, "--only", "testapp.parcels")
    finally:
        recorder.record_applied("testapp", "0003_realtime")

    assert refused.returncode == 1
    assert "run manage.py migrate" in str(refused)
