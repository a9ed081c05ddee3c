"""Many mails over one connection: what the next ones get when one of them is answered oddly."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections import Counter

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone

import emails.smtp
from emails.claiming import MailPass
from emails.models import EmailJob
from emails.processor import MailWork
from emails.streaming.steps import ADVANCE, IDS, NOW, STEPS, values_of
from jobs.claims.holdings import holdings
from jobs.writers import Writer
from tests.conftest import wait_until
from tests.emails.passes import HALF_A_SECOND, deliver, new_context, process_apart, queue
from tests.emails.smtpd import CERTIFICATE, DROP, EVERYTHING, HANG

pytestmark = pytest.mark.django_db(transaction=True)
PLAIN = tuple(each for each in EVERYTHING if each != "PIPELINING")
MANY = 12


@pytest.fixture(autouse=True)
def _one_connection(settings):
    settings.EMAIL_CONNECTIONS = 1


@pytest.fixture(autouse=True)
def _writes_over_its_own_connection(monkeypatch):
    monkeypatch.setattr("jobs.writers.FEW", 0)


def queue_many(count=MANY):
    return [queue(f"to{number}@example.com") for number in range(count)]


def states(mails):
    return [EmailJob.objects.get(pk=mail.pk).status for mail in mails]


def at_mail(number, stage, answer):
    """Answer so at a stage of the mail that came as the so manieth, the first time."""
    given = []

    def script(step):
        if step.stage != stage or step.mail != number or given:
            return None
        given.append(step)
        return answer

    return script


def test_a_mail_is_one_round_trip_where_the_server_pipelines(serve):
    server = serve()
    mails = queue_many()

    assert deliver() == {"claimed": MANY, "sent": MANY}

    assert states(mails) == ["sent"] * MANY
    assert server.connections == 1
    # A server that was busy reads the end of a body along with them.
    following = [write for write in server.writes if b".\r\nMAIL FROM" in write]
    assert len(following) == MANY - 1
    assert all(write.endswith(b"DATA\r\n") for write in following)


def test_commands_wait_for_replies_where_the_server_does_not_pipeline(serve):
    server = serve(extensions=PLAIN)
    queue_many()

    assert deliver() == {"claimed": MANY, "sent": MANY}

    assert server.connections == 1
    assert not [write for write in server.writes if write.count(b"\r\n") > 1 and b"RCPT" in write]


@pytest.mark.parametrize("extensions", [EVERYTHING, PLAIN], ids=["pipelining", "in turn"])
@pytest.mark.parametrize(
    ("stage", "answer", "expected"),
    [
        ("MAIL", "451 4.3.0 later", "failed"),
        ("RCPT", "550 5.1.1 nobody", "failed"),
        ("RCPT", "452 4.2.2 full", "failed"),
        ("RCPT", DROP, "failed"),
        ("DATA", "554 5.7.1 no", "failed"),
        ("DATA", "250-two\r\n250 lines", "failed"),
        ("body", DROP, "failed"),
        ("dot", "554 5.6.0 spam", "failed"),
        ("dot", "451 4.3.0 later", "failed"),
        ("dot", "250-two\r\n250 2.0.0 lines", "sent"),
        ("dot", "421 4.3.2 closing", "failed"),
        ("dot", "garbage", "failed"),
        ("dot", DROP, "failed"),
        ("dot", HANG, "failed"),
    ],
)
def test_an_odd_answer_concerns_one_mail_and_the_others_arrive_once(
    serve, monkeypatch, stage, answer, expected, extensions
):
    monkeypatch.setattr(emails.smtp, "Timeouts", HALF_A_SECOND)
    server = serve(at_mail(4, stage, answer), extensions=extensions)
    mails = queue_many()

    counts = deliver()

    assert states(mails) == ["sent"] * 3 + [expected] + ["sent"] * (MANY - 4)
    assert sum(counts.get(each, 0) for each in ("sent", "failed", "dead")) == MANY
    arrived = Counter(mail.recipients for mail in server.mails if mail.answer.startswith("250"))
    others = [(f"to{number}@example.com",) for number in range(MANY) if number != 3]
    assert [arrived[each] for each in others] == [1] * (MANY - 1)
    odd = EmailJob.objects.get(pk=mails[3].pk)
    in_doubt = stage == "dot" and answer in (DROP, HANG)
    assert odd.possible_duplicate is in_doubt
    assert (odd.claim_token, odd.sending_since) == (None, None)
    assert server.arguments("RCPT").count("to3@example.com") <= 1


def test_a_recipient_that_was_refused_leaves_the_mail_to_the_others(serve):
    server = serve(
        lambda step: "550 5.1.1 nobody" if "bad@" in step.argument else None,
    )
    queue("a@example.com", "b@example.com")
    mixed = queue("good@example.com", "bad@example.com")
    last = queue("c@example.com")

    assert deliver()["sent"] == 3

    mixed.refresh_from_db()
    assert (mixed.status, mixed.outcome) == ("sent", "partial")
    assert [item["state"] for item in mixed.recipients] == ["accepted", "refused"]
    assert states([last]) == ["sent"]
    assert server.arguments("RCPT").count("good@example.com") == 1


def cut(writer):
    """End a session of the database as a network does."""
    with socket.socket(fileno=os.dup(writer.session.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("fails", ["connection cut", "bad value", "bad value of the first"])
def test_what_cannot_be_committed_together_is_committed_one_by_one(serve, monkeypatch, fails):
    monkeypatch.setattr("jobs.writers.FEW", 10 if fails == "bad value of the first" else 0)
    server = serve()
    mails = queue_many()
    begin, calls = Writer.begin, []

    def fail_once(writer, values):
        calls.append(values)
        if len(calls) == 4 and fails == "connection cut":
            cut(writer)
        if len(calls) == 4 and fails != "connection cut":
            values = values | {STEPS: "[{"}
        return begin(writer, values)

    monkeypatch.setattr(Writer, "begin", fail_once)

    assert deliver()["sent"] == MANY

    assert len(calls) > 4
    assert states(mails) == ["sent"] * MANY
    assert sorted(mail.recipients for mail in server.mails) == sorted(
        (f"to{number}@example.com",) for number in range(MANY)
    )


def test_a_mail_that_was_taken_away_is_not_sent_and_the_next_ones_are(serve):
    def take_away(step):
        if step.stage == "DATA" and step.mail == 3:
            free = dict.fromkeys(EmailJob.CLAIM_COLUMNS)
            EmailJob.objects.filter(pk=mails[2].pk).update(status="pending", **free)
            connections.close_all()  # of the server's thread

    server = serve(take_away)
    mails = queue_many(6)

    counts = deliver()

    deliver()
    assert counts["lost"] == 1
    # Given back, it was claimed again, and sent once.
    assert states(mails) == ["sent"] * 6
    assert len(server.mails) == 6


def test_mail_above_the_servers_size_is_not_offered_to_it(serve):
    small = tuple(f"SIZE {1000}" if each.startswith("SIZE") else each for each in EVERYTHING)
    server = serve(extensions=small)
    before, after = queue("a@example.com"), None
    big = queue("b@example.com", body="x" * 2000)
    after = queue("c@example.com")

    deliver()

    big.refresh_from_db()
    assert states([before, after]) == ["sent", "sent"]
    assert (big.status, big.next_retry_at) == ("failed", None)
    assert "b@example.com" not in server.arguments("RCPT")


def test_a_mail_that_needs_a_thread_does_not_wait_for_all_that_is_streamed(serve):
    server = serve()
    queue_many(3)
    queue("big@example.com", body="x" * 100_000)
    queue_many(40)

    assert deliver()["sent"] == 44

    place = server.arguments("RCPT").index("big@example.com")
    assert place < 20  # the stream gives its only connection up for it


def test_no_connection_carries_more_than_a_hundred_mails(serve, monkeypatch):
    monkeypatch.setattr("emails.pool.MOST_MESSAGES", 5)
    monkeypatch.setattr("emails.streaming.stream.MOST_MESSAGES", 5)
    monkeypatch.setattr("emails.streaming.lines.MOST_MESSAGES", 5)
    server = serve()
    mails = queue_many()

    assert deliver()["sent"] == MANY

    assert states(mails) == ["sent"] * MANY
    by_connection = Counter(step.connection for step in server.steps if step.stage == "MAIL")
    assert sorted(by_connection.values()) == [2, 5, 5]
    assert server.stages().count("QUIT") >= 2


def test_mail_in_flight_when_the_grace_ends_is_in_doubt_and_what_follows_is_not(serve, settings):
    server = serve(lambda step: HANG if step.stage == "dot" and step.mail == 2 else None)
    mails = queue_many(4)
    context = new_context()
    running = threading.Thread(target=process_apart, args=(context,))
    running.start()
    wait_until(lambda: server.stages().count("dot") == 2)

    context.stop.set(grace_ms=100)
    running.join(20)

    assert states(mails) == ["sent", "pending", "pending", "pending"]
    doubts = [EmailJob.objects.get(pk=mail.pk).possible_duplicate for mail in mails]
    assert doubts == [False, True, False, False]


def test_mail_is_streamed_over_tls_too(serve, settings):
    server = serve(implicit_tls=True)
    settings.EMAIL_DELIVERY_URL = f"smtps://localhost:{server.port}?ca={CERTIFICATE}"
    mails = queue_many()

    assert deliver() == {"claimed": MANY, "sent": MANY}

    assert states(mails) == ["sent"] * MANY
    assert server.connections == 1


def test_a_pass_that_ends_by_an_error_holds_no_mail_back(serve, monkeypatch):
    serve()
    mails = queue_many()

    def away(*arguments):
        raise OperationalError("the database has gone")

    monkeypatch.setattr(MailWork, "ride_of", away)
    with pytest.raises(OperationalError):
        deliver()

    assert holdings.count() == 0  # so that they turn stale, and are claimed again
    assert states(mails) == ["processing"] * MANY


def test_what_is_claimed_while_a_stop_comes_is_given_back(serve, monkeypatch):
    serve()
    mails = queue_many(MANY)
    context, claim, calls = new_context(), MailPass.claim, []

    def stop_first(self, *, limit):
        calls.append(threading.current_thread())
        if len(calls) == 2:
            context.stop.set(grace_ms=5000)
            assert calls[1] is not calls[0]  # made beside the stream
        return claim(self, limit=5)

    monkeypatch.setattr(MailPass, "claim", stop_first)
    process_apart(context)

    assert len(calls) == 2
    assert holdings.count() == 0
    assert set(states(mails)) == {"sent", "pending"}
    assert states(mails)[10:] == ["pending", "pending"]
    assert context.counts["claimed"] == context.counts["sent"] + context.counts["released"] == 10


def test_a_claim_that_fails_beside_the_stream_ends_the_pass_and_holds_no_mail_back(
    serve, monkeypatch
):
    serve()
    mails = queue_many(MANY)
    claim, calls = MailPass.claim, []

    def fail_then(self, *, limit):
        calls.append(limit)
        if len(calls) == 2:
            raise OperationalError("the database has gone")
        return claim(self, limit=5)

    monkeypatch.setattr(MailPass, "claim", fail_then)
    with pytest.raises(OperationalError):
        deliver()

    assert holdings.count() == 0
    assert states(mails)[5:] == ["pending"] * 7


@pytest.mark.plans
def test_the_steps_of_mails_find_their_rows_by_id_in_a_big_table(db):
    now = timezone.now()
    row = {"mail_from": "a@example.com", "message_id": "<a@example.com>", "size": 1}
    EmailJob.objects.bulk_create(
        EmailJob(status="sent", sent_at=now, recipients=[], **row) for _ in range(3000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE email_jobs")
        values = {STEPS: "[]", IDS: "{1,2,3}", NOW: None}
        cursor.execute(f"EXPLAIN {ADVANCE.fill(values, connection)}")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Index Scan using email_jobs_pkey" in plan
    assert "Seq Scan" not in plan


@pytest.mark.plans
def test_a_mail_on_its_way_is_marked_without_a_write_to_any_index(db):
    token, now = uuid.uuid4(), timezone.now()
    row = {"mail_from": "a@example.com", "message_id": "<a@example.com>", "size": 1}
    claim = {"claim_token": token, "claimed_at": now, "claimed_by": "w"}
    # More than one page of them: the first page is as full as pages get.
    mails = EmailJob.objects.bulk_create(
        EmailJob(status="processing", recipients=[], **row, **claim) for _ in range(100)
    )
    steps = [(mail.pk, f'{{"id":{mail.pk},"token":"{token}","name":"dot"}}') for mail in mails[:3]]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ADVANCE.fill(values_of(steps), connection))
        assert len(cursor.fetchall()) == 3
        cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated('email_jobs'::regclass)")
        (without_index,) = cursor.fetchone()

    assert without_index == 3


@pytest.mark.timeout(30)
def test_a_mail_that_needs_a_thread_and_an_odd_answer_do_not_wait_for_each_other(
    serve, monkeypatch
):
    context = new_context()
    has_thread = threading.Event()

    def big_comes_then_odd_answer(step):
        if step.stage != "MAIL" or step.mail != 2:
            return None
        queue("big@example.com", body="x" * 100_000)
        context.woken.set()
        connections.close_all()  # of the server's thread
        has_thread.wait(0.5)  # it must not get one: there it would wait for the connection
        return "451 4.3.0 later"

    work = MailWork.work

    def noted(self, claim, row):
        has_thread.set()
        work(self, claim, row)

    monkeypatch.setattr(MailWork, "work", noted)
    serve(big_comes_then_odd_answer)
    mails = queue_many(4)

    process_apart(context)

    assert context.counts == {"claimed": 5, "sent": 4, "failed": 1}
    assert states(mails) == ["sent", "failed", "sent", "sent"]  # which is tried again
