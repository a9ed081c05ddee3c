"""Requeue and cancel, and the command."""

from __future__ import annotations

import dataclasses
import json

import pytest

import deletions
from deletions.buckets import verbs
from deletions.buckets.policy import bucket_policy
from deletions.buckets.reads import get_bucket, list_buckets
from deletions.models import BucketDeletionJob
from jobs.claims import claim_rows
from jobs.models import AuditLog
from jobs.models.audit import Via
from jobs.objectstore import open_store
from tests.deletions.buckets.filling import fill
from tests.deletions.test_triage import run
from tests.factories.buckets import BucketDeletionJobFactory


@pytest.mark.parametrize("state", ["abandoned", "retrying", "cancelled"])
def test_a_requeue_makes_a_job_due_now_with_no_attempts_and_leaves_an_audit_row(db, state):
    job = BucketDeletionJobFactory(**{state: True})

    outcome = verbs.requeue([job.pk], actor=None, via=Via.COMMAND, reason="mended")
    again = verbs.requeue([job.pk], actor=None, via=Via.COMMAND)

    job.refresh_from_db()
    assert (job.status, job.attempts, job.requeues) == ("pending", 0, 1)
    assert (job.next_retry_at, job.abandoned_at) == (None, None)
    assert (job.total_objects, job.deleted_objects) == (20_000, 4_200)
    assert outcome.changed == (job.pk,)
    assert [refusal.why for refusal in again.refused] == ["is pending and due already"]
    entry = AuditLog.objects.get()
    assert (entry.verb, entry.target) == ("requeue", f"bucket_deletion_jobs {job.pk}")
    assert entry.reason == "mended"


@pytest.mark.parametrize("state", ["done", "processing"])
def test_a_requeue_leaves_what_is_done_or_in_work_alone(db, state):
    job = BucketDeletionJobFactory(**{state: True})

    outcome = verbs.requeue([job.pk, job.pk + 1], actor=None, via=Via.COMMAND)

    assert outcome.changed == ()
    words = {"done": "is done", "processing": "is being worked on right now"}
    assert [refusal.why for refusal in outcome.refused] == [words[state], "does not exist"]
    assert not AuditLog.objects.exists()


def test_a_cancelled_job_is_not_requeued_beside_a_newer_one_of_its_bucket(db):
    older = BucketDeletionJobFactory(cancelled=True, bucket_name="photos")
    newer = BucketDeletionJobFactory(cancelled=True, bucket_name="photos")

    first = verbs.requeue([older.pk, newer.pk], actor=None, via=Via.COMMAND)
    second = verbs.requeue([older.pk], actor=None, via=Via.COMMAND)

    assert first.changed == (newer.pk,)
    assert [refusal.why for refusal in second.refused] == [verbs.ANOTHER]


def test_a_cancel_ends_the_claim_of_a_worker_which_then_deletes_no_more(
    files, bucket, empty, monkeypatch, caplog
):
    fill(files, bucket, [f"{number:04}" for number in range(1500)])
    job = deletions.delete_bucket(bucket)
    store = open_store()
    delete = store.delete_batch

    def delete_and_cancel(name, keys):
        result = delete(name, keys)
        verbs.cancel([job.pk], actor=None, via=Via.ADMIN, reason="the wrong bucket")
        return result

    monkeypatch.setattr(store, "delete_batch", delete_and_cancel)

    counts = empty()

    job.refresh_from_db()
    assert counts["lost"] == 1
    assert (job.status, job.claim_token, job.lease_expires_at) == ("cancelled", None, None)
    assert len(files.list_page(bucket).keys) == 500
    assert f"bucket_deletion_lost id={job.pk}" in caplog.text
    assert AuditLog.objects.get().verb == "cancel"
    assert claim_rows(bucket_policy()) is None


def test_a_cancel_of_what_has_ended_changes_nothing(db):
    done = BucketDeletionJobFactory(done=True)
    cancelled = BucketDeletionJobFactory(cancelled=True)

    outcome = verbs.cancel([done.pk, cancelled.pk], actor=None, via=Via.ADMIN)

    assert outcome.changed == ()
    assert [refusal.why for refusal in outcome.refused] == ["is done", "was cancelled"]


def test_the_list_shows_progress_with_a_rate_and_an_estimate(db):
    job = BucketDeletionJobFactory(processing=True, bucket_name="photos")

    (item,) = list_buckets().items
    code, out, err = run("buckets", "list")

    assert item.id == job.pk
    assert 900 < item.objects_per_s < 1100
    assert 14 < item.seconds_left < 18
    assert (code, err) == (0, "")
    assert "4,200 of 20,000 (21 %)" in out
    assert "/s, " in out
    assert " left" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["done", "retrying", "abandoned"]),
        (("--state", "dead"), ["abandoned"]),
        (("--state", "retrying"), ["retrying"]),
        (("--bucket", "two"), ["retrying"]),
        (("--limit", "1"), ["done"]),
    ],
)
def test_the_list_can_be_narrowed(db, arguments, expected):
    rows = {
        "abandoned": BucketDeletionJobFactory(abandoned=True, bucket_name="one"),
        "retrying": BucketDeletionJobFactory(retrying=True, bucket_name="two"),
        "done": BucketDeletionJobFactory(done=True, bucket_name="three"),
    }

    code, out, _ = run("buckets", "list", "--json", *arguments)

    answer = json.loads(out)
    assert code == 0
    assert [item["id"] for item in answer["items"]] == [rows[name].pk for name in expected]
    assert answer["next_before_id"] == (rows["done"].pk if arguments == ("--limit", "1") else None)


@pytest.mark.parametrize("named", [True, False])
def test_one_is_shown_by_its_id_or_the_name_of_its_bucket_with_the_failed_keys(db, named):
    job = BucketDeletionJobFactory(abandoned=True, bucket_name="photos")
    which = "photos" if named else str(job.pk)

    code, out, _ = run("buckets", "show", which)
    _, plain, _ = run("buckets", "show", which, "--json")

    assert code == 0
    assert f"bucket deletion {job.pk} of photos" in out
    assert "photos/2026/held.jpg" in out
    assert "AccessDenied" in out
    shown = json.loads(plain)
    assert set(shown) == {field.name for field in dataclasses.fields(get_bucket(job.pk))}
    assert shown["failed_keys"][0]["code"] == "AccessDenied"
    assert shown["phases"][0] == {"name": "objects", "state": "halted"}


def test_an_unknown_one_names_the_nearest_and_ends_with_one(db):
    BucketDeletionJobFactory(bucket_name="photos")

    code, out, err = run("buckets", "show", "photso")

    assert (code, out) == (1, "")
    assert "There is no bucket deletion photso; did you mean photos?" in err


def test_the_command_requeues_ids_or_all_that_are_abandoned(db):
    abandoned = BucketDeletionJobFactory.create_batch(2, abandoned=True)
    retrying = BucketDeletionJobFactory(retrying=True)

    dry = run("buckets", "requeue", "--all", "--dry-run", "--json")
    unchanged = BucketDeletionJob.objects.filter(status="abandoned").count()
    done = run("buckets", "requeue", "--all", "--reason", "mended")
    one = run("buckets", "requeue", str(retrying.pk))
    again = run("buckets", "requeue", str(retrying.pk))

    assert (dry[0], unchanged) == (0, 2)
    assert [item["id"] for item in json.loads(dry[1])["items"]] == [
        job.pk for job in reversed(abandoned)
    ]
    assert (done[0], one[0], again[0]) == (0, 0, 1)
    assert f"Bucket deletion {retrying.pk} is pending and due already." in again[2]
    assert BucketDeletionJob.objects.filter(status="pending").count() == 3
    assert AuditLog.objects.filter(verb="requeue", reason="mended", via="command").count() == 1


@pytest.mark.parametrize("arguments", [(), ("1", "--all")])
def test_the_command_asks_for_exactly_one_way_to_say_which(db, arguments):
    code, _, err = run("buckets", "requeue", *arguments)

    assert code == 2
    assert "Say which" in err
