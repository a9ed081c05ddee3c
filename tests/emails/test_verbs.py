"""Retrying and cancelling queued mail."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, transaction

from emails import verbs
from emails.models import EmailJob
from emails.reads import DEAD_LETTERS
from emails.verbs import cancel, retry
from jobs.audit import Refusal
from jobs.models import AuditLog
from jobs.models.audit import Via
from tests.conftest import wait_until
from tests.factories import EmailJobFactory, UserFactory
from tests.factories.emails import recipient


@pytest.fixture
def woken(monkeypatch) -> list[str]:
    """The queues that were woken."""
    channels: list[str] = []
    monkeypatch.setattr(verbs.notifier, "wake", channels.append)
    return channels


def states_of(mail: EmailJob) -> list[str]:
    mail.refresh_from_db()
    return [entry["state"] for entry in mail.recipients]


@pytest.mark.django_db
def test_a_dead_letter_begins_anew(woken):
    mail = EmailJobFactory(dead=True, stale_recoveries=5, interruptions=2)
    anna = UserFactory(username="anna")

    outcome = retry([mail.pk], actor=anna, via=Via.ADMIN, reason="the server is back")

    assert (outcome.changed, outcome.refused) == ((mail.pk,), ())
    mail.refresh_from_db()
    assert (mail.status, mail.next_retry_at) == ("pending", None)
    assert (mail.attempts, mail.stale_recoveries, mail.interruptions) == (0, 0, 0)
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.verb, entry.target) == ("anna", "retry", f"email_jobs {mail.pk}")
    assert (entry.via, entry.reason) == ("admin", "the server is back")
    assert woken == ["email_jobs"]


@pytest.mark.django_db
def test_mail_that_waits_for_its_next_try_is_due_now():
    mail = EmailJobFactory(retrying=True)

    assert retry([mail.pk], actor=None, via=Via.COMMAND).changed == (mail.pk,)

    mail.refresh_from_db()
    assert (mail.status, mail.next_retry_at) == ("pending", None)


@pytest.mark.django_db
def test_refused_recipients_stay_refused_while_others_still_wait():
    mail = EmailJobFactory(
        dead=True,
        recipients=[
            recipient("ada@example.com", state="accepted"),
            recipient("ben@example.com", state="refused"),
            recipient("cleo@example.com", state="pending"),
        ],
    )

    retry([mail.pk], actor=None, via=Via.COMMAND)

    assert states_of(mail) == ["accepted", "refused", "pending"]


@pytest.mark.django_db
def test_all_are_tried_again_where_all_were_refused():
    mail = EmailJobFactory(
        dead=True,
        recipients=[
            recipient("ada@example.com", state="refused", code=550),
            recipient("ben@example.com", state="refused", code=551),
        ],
    )

    retry([mail.pk], actor=None, via=Via.COMMAND)

    assert states_of(mail) == ["pending", "pending"]
    assert [entry["code"] for entry in mail.recipients] == [550, 551]
    assert [entry["address"] for entry in mail.recipients] == ["ada@example.com", "ben@example.com"]


@pytest.mark.django_db
def test_pressing_twice_acts_once(woken):
    mail = EmailJobFactory(dead=True)
    retry([mail.pk], actor=None, via=Via.COMMAND)

    again = retry([mail.pk], actor=None, via=Via.COMMAND)

    assert again.changed == ()
    assert again.refused == (Refusal(id=mail.pk, why="waits already"),)
    assert AuditLog.objects.count() == 1
    assert woken == ["email_jobs"]


@pytest.mark.django_db
def test_what_may_not_be_retried_is_left_alone_and_named():
    sent = EmailJobFactory(sent=True)
    cancelled = EmailJobFactory(cancelled=True)
    held = EmailJobFactory(processing=True)
    dead = EmailJobFactory(dead=True)
    before = {row.pk: row for row in EmailJob.objects.exclude(pk=dead.pk)}

    outcome = retry([sent.pk, cancelled.pk, held.pk, dead.pk, 987654], actor=None, via=Via.COMMAND)

    assert outcome.changed == (dead.pk,)
    assert {each.id: each.why for each in outcome.refused} == {
        sent.pk: "is sent",
        cancelled.pk: "is cancelled",
        held.pk: "is being sent right now",
        987654: "does not exist",
    }
    for row in EmailJob.objects.exclude(pk=dead.pk):
        assert (row.status, row.claim_token) == (
            before[row.pk].status, before[row.pk].claim_token,
        )  # fmt: skip


@pytest.mark.django_db
def test_waiting_and_failed_mail_is_cancelled():
    pending, retrying = EmailJobFactory(), EmailJobFactory(retrying=True)
    dead, held = EmailJobFactory(dead=True), EmailJobFactory(processing=True)

    outcome = cancel(EmailJob.objects.all(), actor=None, via=Via.COMMAND, reason="not wanted")

    assert outcome.changed == (pending.pk, retrying.pk, dead.pk)
    assert outcome.refused == (Refusal(id=held.pk, why="is being sent right now"),)
    assert not EmailJob.objects.filter(status="cancelled", next_retry_at__isnull=False).exists()
    entry = AuditLog.objects.get()
    assert (entry.target, entry.detail["count"]) == ("email_jobs", 3)
    assert entry.detail["ids"] == [pending.pk, retrying.pk, dead.pk]


@pytest.mark.django_db
def test_all_dead_letters_up_to_an_id_leave_later_ones_alone():
    first, second = EmailJobFactory.create_batch(2, dead=True)
    later = EmailJobFactory(dead=True)
    rows = EmailJob.objects.filter(DEAD_LETTERS, pk__lte=second.pk)

    outcome = retry(rows, actor=None, via=Via.COMMAND)

    assert outcome.changed == (first.pk, second.pk)
    later.refresh_from_db()
    assert later.is_dead_letter


@pytest.mark.django_db(transaction=True)
def test_neither_the_change_nor_the_audit_is_without_the_other(monkeypatch):
    mail = EmailJobFactory(dead=True)

    def refuse(*args: object, **given: object) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(verbs, "record_rows", refuse)
    with pytest.raises(ConnectionResetError):
        retry([mail.pk], actor=None, via=Via.COMMAND)

    mail.refresh_from_db()
    assert mail.is_dead_letter


@pytest.mark.django_db(transaction=True)
def test_two_operators_at_once_act_once_on_each_mail():
    ids = [mail.pk for mail in EmailJobFactory.create_batch(40, dead=True)]
    barrier = threading.Barrier(2)
    changed: list[tuple[int, ...]] = []

    def press(order: list[int]) -> None:
        try:
            barrier.wait(10)
            changed.append(retry(order, actor=None, via=Via.ADMIN).changed)
        finally:
            connection.close()

    threads = [threading.Thread(target=press, args=(order,)) for order in (ids, ids[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(changed) == 2
    assert sorted(changed[0] + changed[1]) == ids


@pytest.mark.django_db(transaction=True)
def test_a_mail_that_a_worker_claims_meanwhile_is_not_taken_from_it(worker_connection):
    mail = EmailJobFactory(retrying=True)
    claim = (
        "UPDATE email_jobs SET status = 'processing', claimed_at = now(), claimed_by = 'w', "
        "claim_token = gen_random_uuid(), next_retry_at = NULL WHERE id = %s"
    )
    outcomes = []

    def press() -> None:
        try:
            outcomes.append(cancel([mail.pk], actor=None, via=Via.ADMIN))
        finally:
            connection.close()

    with worker_connection.transaction():
        worker_connection.execute(claim, [mail.pk])
        thread = threading.Thread(target=press)
        thread.start()
        wait_until(_somebody_waits_for_a_lock, what="the verb waits for the claim")
    thread.join(30)

    assert outcomes[0].changed == ()
    assert outcomes[0].refused == (Refusal(id=mail.pk, why="is being sent right now"),)
    mail.refresh_from_db()
    assert (mail.status, mail.claimed_by) == ("processing", "w")


@pytest.mark.django_db(transaction=True)
def test_the_queue_is_woken_only_after_the_commit(monkeypatch):
    mail = EmailJobFactory(dead=True)
    poked: list[str] = []
    monkeypatch.setattr(verbs.notifier, "poke", lambda channel, **_: poked.append(channel))

    with transaction.atomic():
        retry([mail.pk], actor=None, via=Via.COMMAND)
        assert poked == []

    assert poked == ["email_jobs"]


@pytest.fixture
def worker_connection() -> Iterator[psycopg.Connection]:
    known = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname", "passfile")
    with psycopg.connect(
        **{name: known[name] for name in names if name in known}, autocommit=True
    ) as other:
        yield other


def _somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return bool(cursor.fetchone()[0])
