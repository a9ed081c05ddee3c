"""``manage.py emails``."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

import emails
from emails.channel import Channel
from emails.delivery import parse_delivery_url
from emails.envelopes import ChannelError
from emails.models import EmailChannel, EmailDomain, EmailJob, EmailSuppression
from emails.replies import Stage
from jobs.models import AuditLog
from tests.emails.conftest import message
from tests.factories import EmailBodyFactory, EmailJobFactory
from tests.factories.emails import recipient
from tests.jobs.commanding import Ended, manage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue_backend")]
RELAY = "smtp://shop:secret@relay.example:2525"


def run(*arguments: object, **options: bool) -> Ended:
    return manage("emails", *arguments, app="emails", **options)


def verbs() -> list[str]:
    return list(AuditLog.objects.order_by("pk").values_list("verb", flat=True))


def status_of(*rows: EmailJob) -> list[str]:
    for row in rows:
        row.refresh_from_db()
    return [row.status for row in rows]


def test_list_is_an_aligned_table_and_one_json_object():
    EmailJobFactory(dead=True, kind="invitation")
    newest = EmailJobFactory(retrying=True)

    table, found = run("list"), run("list", "--state", "retrying", "--json").json

    header, *lines = table.lines
    assert header.split()[:4] == ["MAIL", "STATE", "TO", "SUBJECT"]
    assert lines[0].startswith(str(newest.pk))
    assert "550 5.1.1" in lines[1]
    assert set(found) == {"items", "next_before_id"}
    (item,) = found["items"]
    assert (item["id"], item["state"]) == (newest.pk, "retrying")
    assert item["next_retry_at"].endswith("Z")
    assert item["admin_url"].endswith(f"/admin/emails/emailjob/{newest.pk}/change/")


def test_pages_of_a_list_follow_each_other():
    rows = [EmailJobFactory().pk for _ in range(3)]

    first = run("list", "--limit", 2, "--json").json
    second = run("list", "--limit", 2, "--before", first["next_before_id"], "--json").json

    assert [item["id"] for item in first["items"]] == [rows[2], rows[1]]
    assert [item["id"] for item in second["items"]] == [rows[0]]
    assert second["next_before_id"] is None


def test_show_has_each_recipient_and_no_body():
    mail = EmailBodyFactory(
        email=EmailJobFactory(
            sent=True,
            recipients=[recipient("ada@example.com", state="accepted", text="250 2.0.0 ok\x1b[2J")],
        )
    ).email

    shown = run("show", mail.pk)

    assert "ada@example.com  accepted  250 2.0.0 ok" in shown.out
    assert "\x1b" not in shown.out
    assert "the body of the mail" not in shown.out + run("show", mail.pk, "--json").out


def test_an_unknown_mail_is_a_problem_and_a_wrong_id_wrong_usage():
    assert run("show", 999).code == 1
    assert "no mail 999" in run("show", 999).err
    assert run("show", "x").code == 2
    assert run("retry").code == 2
    assert run("retry", 7, "--all-dead").code == 2
    assert run("list", "--state", "lost").code == 2


def test_retry_of_all_dead_letters_takes_those_of_this_moment_and_writes_its_audit():
    dead = [EmailJobFactory(dead=True) for _ in range(3)]
    other = EmailJobFactory(retrying=True)

    tried = run("retry", "--all-dead", "--dry-run", "--json").json
    untouched = status_of(*dead)
    done = run("retry", "--all-dead", "--reason", "the relay is back", "--json").json

    assert tried["dry_run"] is True
    assert tried["changed"] == done["changed"] == [row.pk for row in dead]
    assert done["up_to"] == dead[-1].pk
    assert untouched == ["failed"] * 3
    assert status_of(*dead, other) == ["pending"] * 3 + ["failed"]
    (audit,) = AuditLog.objects.all()
    assert (audit.verb, audit.via, audit.reason) == ("retry", "command", "the relay is back")
    assert audit.actor.startswith("cli:")


def test_a_large_retry_and_every_cancel_ask_and_without_a_terminal_want_yes(monkeypatch):
    monkeypatch.setattr("emails.output.mail_actions.UNASKED", 2)
    rows = [EmailJobFactory(dead=True) for _ in range(3)]

    refused = run("retry", "--all-dead")
    cancelled = run("cancel", rows[0].pk)
    allowed = run("cancel", rows[0].pk, "--yes")
    again = run("cancel", rows[0].pk, "--yes")

    assert (refused.code, cancelled.code, allowed.code, again.code) == (2, 2, 0, 1)
    assert "--yes" in refused.err
    assert "is cancelled" in again.out
    assert status_of(*rows) == ["cancelled", "failed", "failed"]
    assert verbs() == ["cancel"]


def test_resend_queues_the_same_bytes_under_a_new_message_id_and_date():
    old = emails.enqueue(message("ada@example.com", "ben@example.com", subject="Grüße" * 20))
    EmailJob.objects.update(status="sent", sent_at=timezone.now(), message_id=old.message_id)
    emails.suppress("ben@example.com")

    (copy_id,) = run("resend", old.pk, "--json").json["changed"]

    copy = EmailJob.objects.get(pk=copy_id)
    before, after = (bytes(row.body.raw).split(b"\r\n") for row in (old, copy))
    changed = [line.split(b":")[0] for line in after if line not in before]
    assert set(changed) <= {b"Date", b"Message-ID"}  # within a second the date is the same
    assert len(before) == len(after)
    assert copy.message_id != old.message_id
    assert copy.message_id.encode() in bytes(copy.body.raw)
    assert copy.size == len(bytes(copy.body.raw))
    assert [item["state"] for item in copy.recipients] == ["pending", "suppressed"]
    assert verbs() == ["resend"]
    EmailJob.objects.filter(pk=old.pk).update(status="pending", sent_at=None)
    assert run("resend", old.pk).code == 1


def test_an_address_is_suppressed_and_taken_back_in_any_spelling():
    until = run("suppress", "Ada@Bücher.example", "--until", "30d", "--reason", "asked by phone")
    twice = run("suppress", "ada@example.com", "--kind", "complaint")
    repeated = run("suppress", "ADA@example.com", "--kind", "complaint")
    listed = run("suppressions", "--address", "ada@XN--BCHER-KVA.example", "--json").json
    table = run("suppressions")
    wrong = run("suppress", "nobody")
    removed = run("unsuppress", "ada@bücher.example", "--json").json
    nothing = run("unsuppress", "ada@bücher.example")

    assert (until.code, twice.code, repeated.code, wrong.code, nothing.code) == (0, 0, 0, 2, 1)
    assert "already" in repeated.out
    assert "there is no @" in wrong.err
    (item,) = listed["items"]
    assert (item["address"], item["reason"]) == ("ada@xn--bcher-kva.example", "manual")
    assert dt.datetime.fromisoformat(item["until"]) > timezone.now() + dt.timedelta(days=29)
    assert "complaint" in table.out
    assert removed["changed"] == [item["id"]]
    assert EmailSuppression.objects.count() == 1
    assert verbs() == ["suppress", "suppress", "unsuppress"]


def test_the_channel_says_whether_mail_goes_out_and_a_pause_can_be_ended(settings):
    settings.EMAIL_DELIVERY_URL = ""
    unset = run("channel")
    settings.EMAIL_DELIVERY_URL = RELAY
    up = run("channel", "--json").json
    nothing = run("resume")
    Channel(parse_delivery_url(RELAY)).fail(
        ChannelError(stage=Stage.CONNECT, detail="connection refused")
    )
    paused, words = run("channel", "--json").json, run("channel")
    resumed = run("resume", "--reason", "repaired", "--json").json

    assert unset.lines == ["not configured"]
    assert (up["state"], up["address"]) == ("up", "smtp://shop:***@relay.example:2525")
    assert "the channel is up" in nothing.out
    assert (paused["state"], paused["failures"]) == ("paused", 1)
    assert paused["next_try_at"].endswith("Z")
    assert "connect: connection refused" in words.out
    assert "secret" not in words.out
    assert resumed["changed"] is True
    channel = EmailChannel.objects.get()
    assert channel.next_try_at <= timezone.now()
    assert verbs() == ["resume"]


def test_domains_lists_what_is_held_back():
    now = timezone.now()
    EmailDomain.objects.create(
        domain="slow.example", throttled_at=now, next_allowed_at=now, last_error="450 4.7.1 slow"
    )

    assert "450 4.7.1 slow" in run("domains").out
    (item,) = run("domains", "--json").json["items"]
    assert item["domain"] == "slow.example"
    assert item["next_allowed_at"].endswith("Z")
