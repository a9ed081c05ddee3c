"""What was given up: how it is shown, and how it starts again."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import json
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

import deletions
from deletions.models import UserDeletion, UserDeletionStep
from deletions.policy import deletion_policy
from deletions.reads import get_deletion, list_abandoned, list_deletions
from jobs.claims.burial import bury_exhausted
from jobs.models import AuditLog
from tests.deletions.conftest import step_of
from tests.factories import UserFactory


def run(*arguments: str) -> tuple[int, str, str]:
    """Return exit code, output and errors of a command."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), err.getvalue()
    except CommandError as error:
        return error.returncode, out.getvalue(), err.getvalue() + str(error)
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture
def abandoned(user, work, billing, settings) -> UserDeletion:
    """A deletion that billing has stopped."""
    settings.USER_DELETION_MAX_ATTEMPTS = 2
    settings.RETRY_BACKOFF_MS = (1,)
    billing.answer = (503, "down")
    deletion = deletions.request(user, requested_by="anna")
    for _ in range(4):
        work()
    billing.answer = None
    deletion.refresh_from_db()
    assert deletion.status == "abandoned"
    return deletion


def lost(user, **columns: object) -> UserDeletion:
    """A deletion whose worker died on the last attempt, an hour ago."""
    deletion = deletions.request(user, requested_by="anna")
    long_ago = timezone.now() - dt.timedelta(hours=1)
    values = {
        "status": "processing",
        "attempts": 5,
        "claimed_at": long_ago,
        "begun_at": long_ago,
        "claimed_by": "web-1:4121:a1b2c3",
        "claim_token": uuid.uuid4(),
        **columns,
    }
    UserDeletion.objects.filter(pk=deletion.pk).update(**values)
    deletion.refresh_from_db()
    return deletion


def test_the_list_says_which_half_is_done_and_what_is_left_behind(abandoned, user):
    code, out, _ = run("abandoned_deletions")

    assert code == 0
    header, line = out.splitlines()
    assert header.split()[:7] == ["ID", "USER", "TRIES", "SINCE", "ACCESS", "EXTERNAL", "LOCAL"]
    assert line.startswith(f"{abandoned.pk}")
    assert f" {user.pk} " in line
    assert " 2/2 " in line
    assert "billing failed" in line
    assert " done " in line
    assert " todo " in line
    assert "the subscription may still be charged" in line
    assert "rows that refer to the user are still here" in line


def test_the_list_as_json_is_one_object_with_the_same_facts(abandoned, user):
    code, out, _ = run("abandoned_deletions", "--json")

    answer = json.loads(out)
    assert (code, out.count("\n"), answer["next_before_id"]) == (0, 1, None)
    (item,) = answer["items"]
    assert (item["id"], item["user_id"], item["attempts"]) == (abandoned.pk, str(user.pk), 2)
    assert item["access"] == {"state": "done", "words": "done"}
    assert item["external"] == {"state": "failed", "words": "billing failed"}
    assert item["local"] == {"state": "todo", "words": "todo"}
    assert item["since"] is not None
    assert item["admin_url"].endswith(f"/admin/deletions/userdeletion/{abandoned.pk}/change/")


@pytest.mark.django_db
def test_without_any_the_list_says_so():
    code, out, err = run("abandoned_deletions")

    assert (code, out) == (0, "")
    assert "No deletion is abandoned" in err


def test_a_row_that_no_claim_can_take_is_listed_before_the_pass_that_abandons_it(user):
    deletion = lost(user)
    lost(UserFactory(), attempts=4)
    lost(UserFactory(), claimed_at=timezone.now())

    (item,) = list_abandoned().items

    assert (item.id, item.state, item.status) == (deletion.pk, "lost", "processing")
    code, _, err = run("requeue_deletion", str(deletion.pk))
    assert code == 1
    assert "the next pass of deletions.users abandons it" in err


def test_the_pass_abandons_such_a_row_and_says_so_once(user, caplog):
    deletion = lost(user)
    UserDeletionStep.objects.filter(deletion=deletion, name="rows").update(begun_at=timezone.now())

    assert bury_exhausted(deletion_policy()) == [deletion.pk]
    assert bury_exhausted(deletion_policy()) == []

    deletion.refresh_from_db()
    assert (deletion.status, deletion.current_step) == ("abandoned", None)
    assert deletion.abandoned_at is not None
    assert step_of(deletion, "rows").state == "failed"
    lines = [r.message for r in caplog.records if r.message.startswith("deletion_abandoned")]
    assert len(lines) == 1
    assert "rows failed" in lines[0]


def test_news_that_cannot_be_told_do_not_undo_the_giving_up(user, caplog):
    deletion = lost(user)

    def fail(_ids: object) -> None:
        raise RuntimeError("no pager")

    policy = dataclasses.replace(deletion_policy(), on_dead=fail)

    assert bury_exhausted(policy) == [deletion.pk]

    deletion.refresh_from_db()
    assert deletion.status == "abandoned"
    assert any(
        f"dead_letter queue=user_deletions ids=[{deletion.pk}]" in r.message for r in caplog.records
    )


def test_requeue_makes_it_due_once_and_a_second_call_changes_nothing(abandoned):
    code, out, _ = run("requeue_deletion", str(abandoned.pk), "--reason", "billing is back")

    assert code == 0
    assert "the subscription may still be charged" in out
    abandoned.refresh_from_db()
    state = (abandoned.status, abandoned.attempts, abandoned.requeues, abandoned.next_retry_at)
    assert state == ("pending", 0, 1, None)
    assert abandoned.abandoned_at is None
    assert step_of(abandoned, "account").state == "done"
    assert step_of(abandoned, "billing").state == "todo"

    code, out, err = run("requeue_deletion", str(abandoned.pk))

    assert (code, out) == (1, "")
    assert f"Deletion {abandoned.pk} is pending and due already" in err
    abandoned.refresh_from_db()
    assert abandoned.requeues == 1
    entry = AuditLog.objects.get()
    assert (entry.verb, entry.via, entry.reason) == ("requeue", "command", "billing is back")
    assert entry.target == f"user_deletions {abandoned.pk}"
    assert entry.actor.startswith("cli:")


def test_requeue_by_user_and_all_and_as_json(abandoned, user):
    code, out, _ = run("requeue_deletion", "--user", str(user.pk), "--dry-run", "--json")

    answer = json.loads(out)
    assert (code, answer["dry_run"], answer["refused"]) == (0, True, [])
    assert [item["id"] for item in answer["items"]] == [abandoned.pk]
    abandoned.refresh_from_db()
    assert abandoned.status == "abandoned"

    assert run("requeue_deletion", "--user", str(user.pk))[0] == 0
    assert run("requeue_deletion", "--user", str(user.pk))[0] == 1
    code, _, err = run("requeue_deletion", "--all")
    assert (code, "None is abandoned" in err) == (0, True)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("done", "is done"),
        ("cancelled", "was cancelled"),
        ("failed", "has failed and is retried by itself"),
        ("processing", "is being worked on right now"),
    ],
)
def test_anything_but_abandoned_is_refused_with_its_reason(user, status, why):
    columns: dict[str, object] = {}
    if status == "processing":
        deletion = lost(user, attempts=1, claimed_at=timezone.now())
    else:
        deletion = deletions.request(user, requested_by="anna")
        columns = {"status": status, "snapshot": {}}
        columns["done_at"] = timezone.now() if status == "done" else None
        UserDeletion.objects.filter(pk=deletion.pk).update(**columns)
    before = UserDeletion.objects.values().get()

    code, out, err = run("requeue_deletion", str(deletion.pk))

    assert (code, out) == (1, "")
    assert f"Deletion {deletion.pk} {why}" in err
    assert UserDeletion.objects.values().get() == before
    assert not AuditLog.objects.exists()


def test_an_unknown_id_names_those_that_are_abandoned(abandoned):
    code, _, err = run("requeue_deletion", "999999")

    assert code == 1
    assert f"no deletion of id 999999; abandoned are {abandoned.pk}" in err
    assert run("requeue_deletion", "--user", "nobody")[0] == 1


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", [[], ["1", "--all"], ["1", "--user", "1"], ["x"]])
def test_not_exactly_one_selection_is_wrong_usage(arguments):
    code, _, _err = run("requeue_deletion", *arguments)

    assert code == 2 or arguments == ["x"]


def test_one_refused_of_two_ends_with_one_and_the_other_is_requeued(abandoned):
    waiting = deletions.request(UserFactory(), requested_by="anna")

    code, out, err = run("requeue_deletion", str(abandoned.pk), str(waiting.pk))

    assert code == 1
    assert str(abandoned.pk) in out
    assert f"Deletion {waiting.pk}" in err
    abandoned.refresh_from_db()
    assert abandoned.status == "pending"


def test_reads_give_lists_by_state_and_one_with_its_steps_and_calls(abandoned, user):
    other = deletions.request(UserFactory(), requested_by="anna")

    assert [item.id for item in list_deletions().items] == [other.pk, abandoned.pk]
    assert [item.id for item in list_deletions(state="dead").items] == [abandoned.pk]
    assert [item.id for item in list_deletions(user_id=str(user.pk)).items] == [abandoned.pk]
    detail = get_deletion(abandoned.pk)
    assert detail is not None
    assert [step.name for step in detail.steps] == [
        "account", "sessions", "billing", "buckets", "mail", "rows",
    ]  # fmt: skip
    assert [call.status_code for call in detail.billing_calls] == [503, 503]
    assert get_deletion(999_999) is None
