"""The file of finished deletions, and doing them again after a restore."""

from __future__ import annotations

import datetime as dt
import json
import threading

import pytest
from django.contrib.auth import get_user_model
from django.core import serializers
from django.utils import timezone

import deletions
from deletions.models import UserDeletion
from deletions.proof import Proof, append_proof, read_proofs
from jobs.models import AuditLog
from tests.deletions.conftest import is_gone
from tests.deletions.shop.models import Order
from tests.deletions.test_triage import run
from tests.factories import UserFactory


def proof(user_id: object = 7, deletion_id: int = 1) -> Proof:
    now = timezone.now()
    return Proof(deletion_id=deletion_id, user_id=str(user_id), requested_at=now, deleted_at=now)


def restore(backup: str) -> None:
    """Put the tables back as a restored backup has them."""
    UserDeletion.objects.all().delete()
    for each in serializers.deserialize("json", backup):
        each.save()


def test_three_deletions_of_after_the_backup_are_done_again_after_its_restore(
    work, backup_dir, transactional_db, billing
):
    users = [UserFactory(date_joined=timezone.now() - dt.timedelta(days=9)) for _ in range(4)]
    for user in users:
        Order.objects.create(user=user)
    backup = serializers.serialize("json", [*get_user_model().objects.all(), *Order.objects.all()])
    for user in users[:3]:
        deletions.request(user, requested_by="anna")
        work()
    path = backup_dir / "deletions.jsonl"
    kept = backup_dir.parent / "kept.jsonl"
    kept.write_bytes(path.read_bytes())
    restore(backup)
    assert get_user_model().objects.count() == 4
    keys = {each.headers["idempotency-key"] for each in billing.received}

    code, out, _ = run("reapply_deletions", "--from", str(kept), "--json")
    work()

    assert code == 0
    assert [item["result"] for item in json.loads(out)["items"]] == ["queued"] * 3
    assert all(is_gone(user) for user in users[:3])
    assert not is_gone(users[3])
    assert Order.objects.count() == 1
    assert set(UserDeletion.objects.values_list("status", flat=True)) == {"done"}
    # Of a key that was used before a service would answer from memory and cancel nothing.
    assert not keys & {each.headers["idempotency-key"] for each in billing.received[3:]}
    assert AuditLog.objects.filter(verb="reapply").count() == 3

    code, out, _ = run("reapply_deletions", "--from", str(kept))

    assert code == 0
    assert out.count(" gone ") == 3


def test_a_dry_run_queues_nothing(user, backup_dir):
    append_proof(proof(user.pk))

    code, out, _ = run("reapply_deletions", "--dry-run")

    assert (code, "would be deleted again" in out) == (0, True)
    assert not UserDeletion.objects.exists()


def test_somebody_who_got_the_key_after_the_restore_is_left_alone(user):
    append_proof(
        Proof(
            deletion_id=1,
            user_id=str(user.pk),
            requested_at=timezone.now(),
            deleted_at=timezone.now() - dt.timedelta(days=1),
        )
    )

    code, out, _ = run("reapply_deletions")

    assert code == 1
    assert "somebody else" in out
    assert not UserDeletion.objects.exists()


def test_a_user_whose_deletion_is_under_way_gets_no_second_one(user):
    deletions.request(user, requested_by="anna")
    append_proof(proof(user.pk))

    code, out, _ = run("reapply_deletions")

    assert (code, "has a deletion that is pending" in out) == (0, True)
    assert UserDeletion.objects.count() == 1


def test_lines_that_cannot_be_read_are_named_and_the_others_are_applied(user, backup_dir):
    append_proof(proof(user.pk))
    with (backup_dir / "deletions.jsonl").open("a") as file:
        file.write('{"user": 3}\nnonsense\n')

    code, out, err = run("reapply_deletions")

    assert code == 1
    assert "will be deleted again" in out
    assert "line 2 is no finished deletion" in err
    assert "line 3 is no finished deletion" in err
    assert UserDeletion.objects.count() == 1


@pytest.mark.django_db
def test_a_file_that_is_not_there_is_one_line(tmp_path):
    code, _, err = run("reapply_deletions", "--from", str(tmp_path / "none.jsonl"))

    assert code == 1
    assert "none.jsonl cannot be read" in err


def test_a_line_that_a_crash_has_cut_does_not_swallow_the_next(backup_dir):
    append_proof(proof(1))
    path = backup_dir / "deletions.jsonl"
    path.write_bytes(path.read_bytes() + b'{"user": "2", "del')

    append_proof(proof(3))

    found = read_proofs(path)
    assert [each.user_id for each in found.proofs] == ["1", "3"]
    assert found.unreadable == (2,)
    assert path.stat().st_mode & 0o777 == 0o600


def test_writers_at_the_same_time_write_whole_lines(backup_dir):
    def write(start: int) -> None:
        for number in range(25):
            append_proof(proof(start + number))

    threads = [threading.Thread(target=write, args=(start * 100,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = read_proofs(backup_dir / "deletions.jsonl")
    assert (len(found.proofs), found.unreadable) == (100, ())


def test_of_a_user_deleted_twice_the_newer_line_counts(backup_dir):
    append_proof(proof(7, deletion_id=1))
    append_proof(proof(8, deletion_id=2))
    append_proof(proof(7, deletion_id=3))

    found = read_proofs(backup_dir / "deletions.jsonl")

    assert [(each.user_id, each.deletion_id) for each in found.proofs] == [("8", 2), ("7", 3)]
