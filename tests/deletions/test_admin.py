"""Deletions in the admin: the list, the page of one, and what operators do there."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from deletions.models import BillingAudit, UserDeletion
from jobs.groups import console_groups
from jobs.models import AuditLog
from tests.factories import UserFactory, give
from tests.factories.deletions import UserDeletionFactory

LIST = "/admin/deletions/userdeletion/"
REQUEUE = f"{LIST}verb/requeue/"
CANCEL = f"{LIST}verb/cancel/"


def page_of(deletion: UserDeletion) -> str:
    return f"{LIST}{deletion.pk}/change/"


@pytest.fixture
def anna(db) -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(UserFactory(username="anna", is_superuser=True))
    return client


@pytest.fixture
def observer(db) -> Client:
    """The browser of somebody who may see deletions and do nothing."""
    user = UserFactory(username="otto")
    give(user, "deletions.view_userdeletion")
    client = Client()
    client.force_login(user)
    return client


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def shown_ids(response) -> list[int]:
    return [row.pk for row in response.context["cl"].result_list]


def test_abandoned_ones_come_first_with_what_is_left_behind(anna):
    abandoned = UserDeletionFactory(abandoned=True)
    newer = UserDeletionFactory()

    response = anna.get(LIST)

    text = text_of(response)
    assert shown_ids(response) == [newer.pk, abandoned.pk]
    top = text.index("Abandoned deletions")
    assert top < text.index("the subscription may still be charged")
    assert text.index("the subscription may still be charged") < text.index('id="result_list"')
    assert text.count(f'<a href="{page_of(abandoned)}">{abandoned.pk}</a>') == 2
    assert f'<a href="{page_of(newer)}">{newer.pk}</a>' in text
    assert "billing failed" in text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["cancelled", "done", "retrying", "processing", "deferred", "pending", "abandoned"]),
        ("?status=dead", ["abandoned"]),
        ("?status=pending", ["deferred", "pending"]),
        ("?status=processing", ["processing"]),
        ("?status=retrying", ["retrying"]),
        ("?status=done", ["done"]),
        ("?status=cancelled", ["cancelled"]),
        ("?q=user:77", ["pending"]),
    ],
)
def test_each_filter_shows_exactly_its_deletions(anna, query, expected):
    made = {
        "abandoned": UserDeletionFactory(abandoned=True),
        "pending": UserDeletionFactory(user_id="77"),
        "deferred": UserDeletionFactory(in_two_weeks=True),
        "processing": UserDeletionFactory(processing=True),
        "retrying": UserDeletionFactory(retrying=True),
        "done": UserDeletionFactory(done=True),
        "cancelled": UserDeletionFactory(cancelled=True),
    }

    response = anna.get(f"{LIST}{query}")

    names = {deletion.pk: name for name, deletion in made.items()}
    assert [names[key] for key in shown_ids(response)] == expected


def test_the_list_of_abandoned_ones_is_titled_so_and_requeues_all(anna):
    UserDeletionFactory(abandoned=True)

    text = text_of(anna.get(f"{LIST}?status=dead"))

    assert "<h1>Abandoned deletions</h1>" in text
    assert "Requeue all abandoned…" in text
    assert "the subscription may still be charged" in text
    assert "Requeue all" not in text_of(anna.get(LIST))


def test_the_page_shows_halves_steps_calls_and_what_is_left_behind(anna):
    deletion = UserDeletionFactory(abandoned=True)
    BillingAudit.objects.create(
        deletion_id=deletion.pk, url="https://b", idempotency_key="k", status_code=503,
        outcome="failed", answer="down for good",
    )  # fmt: skip

    text = text_of(anna.get(page_of(deletion)))

    assert f"Deletion {deletion.pk} of user {deletion.user_id}" in text
    assert "<strong>Left behind:</strong> the subscription may still be charged; the user" in text
    for word in ("account", "external", "local", "down for good", "503", "Requeue…", "abandoned"):
        assert word in text
    assert "Cancel…" not in text


def test_the_page_of_a_done_deletion_is_proof_and_offers_nothing(anna):
    deletion = UserDeletionFactory(done=True)

    text = text_of(anna.get(page_of(deletion)))

    assert "Left behind:" not in text
    assert "Requeue…" not in text
    assert "Cancel…" not in text


def test_requeue_asks_a_reason_and_leaves_an_audit_row_and_a_log_entry(anna):
    deletion = UserDeletionFactory(abandoned=True)
    asked = text_of(anna.get(f"{REQUEUE}?ids={deletion.pk}"))
    assert "Steps that are done are not run again." in asked

    without = anna.post(REQUEUE, {"ids": deletion.pk, "reason": ""})
    assert "Say why" in text_of(without)
    anna.post(REQUEUE, {"ids": deletion.pk, "reason": "billing is back"})
    anna.post(REQUEUE, {"ids": deletion.pk, "reason": "billing is back"})

    deletion.refresh_from_db()
    assert (deletion.status, deletion.attempts, deletion.requeues) == ("pending", 0, 1)
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.verb, entry.via) == ("anna", "requeue", "admin")
    assert entry.reason == "billing is back"
    assert LogEntry.objects.get().change_message == "requeued: billing is back"
    assert "billing is back" in text_of(anna.get(page_of(deletion)))


def test_cancel_before_its_instant_and_not_after(anna):
    deletion = UserDeletionFactory(in_two_weeks=True)
    due = UserDeletionFactory()
    assert "Cancel…" in text_of(anna.get(page_of(deletion)))
    assert "Cancel…" not in text_of(anna.get(page_of(due)))

    anna.post(CANCEL, {"ids": f"{deletion.pk},{due.pk}", "reason": "asked to stay"})

    deletion.refresh_from_db()
    due.refresh_from_db()
    assert (deletion.status, due.status) == ("cancelled", "pending")
    assert AuditLog.objects.get().target == f"user_deletions {deletion.pk}"
    assert "everything: it was cancelled before it began" in text_of(anna.get(page_of(deletion)))


def test_without_the_permission_there_is_no_button_and_a_post_is_refused(observer):
    deletion = UserDeletionFactory(abandoned=True)

    text = text_of(observer.get(page_of(deletion)))

    assert "Requeue…" not in text
    assert observer.post(REQUEUE, {"ids": deletion.pk, "reason": "x"}).status_code == 403
    assert observer.post(CANCEL, {"ids": deletion.pk, "reason": "x"}).status_code == 403
    deletion.refresh_from_db()
    assert deletion.status == "abandoned"
    assert not AuditLog.objects.exists()


def test_operators_may_requeue_and_cancel_and_observers_only_look(db):
    observers, operators, _ = console_groups()

    assert "deletions.view_userdeletion" in observers.permissions
    verbs = {"deletions.requeue_userdeletion", "deletions.cancel_userdeletion"}
    assert not verbs & observers.permissions
    assert verbs <= operators.permissions


def test_text_of_others_is_escaped(anna):
    deletion = UserDeletionFactory(user_id="<script>1</script>", abandoned=True)

    for path in (LIST, page_of(deletion)):
        assert "<script>1" not in text_of(anna.get(path))


def test_the_list_takes_few_statements_however_long_it_is(anna, django_assert_max_num_queries):
    for _ in range(8):
        UserDeletionFactory(abandoned=True)

    with django_assert_max_num_queries(25):
        anna.get(LIST)
