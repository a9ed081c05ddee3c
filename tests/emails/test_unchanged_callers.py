"""Code that knows nothing of the queue: all of it queues, in the caller's transaction."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core import mail
from django.core.management import call_command
from django.db import transaction
from django.test import Client, RequestFactory
from django.utils.log import AdminEmailHandler

from emails.models import EmailJob
from jobs.testing import assert_mail_queued
from tests.emails.smtpd import ScriptedServer

pytestmark = pytest.mark.usefixtures("queue_backend")


@pytest.fixture(autouse=True)
def _site(settings):
    settings.ROOT_URLCONF = "tests.emails.urls"
    settings.ADMINS = ["ops@example.com"] if _takes_addresses() else [("Ops", "ops@example.com")]
    settings.SERVER_EMAIL = "server@example.org"


def _takes_addresses() -> bool:
    import django

    return django.VERSION >= (6, 0)


def test_djangos_password_reset_arrives_with_its_link(work, deliver_to):
    get_user_model().objects.create_user("ada", "ada@example.com", "old-password")

    answer = Client().post("/accounts/password_reset/", {"email": "ada@example.com"})
    with ScriptedServer() as server:
        deliver_to(server.port)
        work()

    assert answer.status_code == 302
    (arrived,) = server.mails
    assert arrived.recipients == ("ada@example.com",)
    assert b"/accounts/reset/" in arrived.data.replace(b"=\r\n", b"")
    assert mail.outbox == []


@pytest.mark.django_db
def test_mail_to_admins_and_the_error_handler_of_the_log_queue():
    mail.mail_admins("disk full", "97 %")
    handler = AdminEmailHandler()
    request = RequestFactory().get("/shop/")
    request.user = AnonymousUser()
    record = logging.LogRecord("django.request", logging.ERROR, "", 1, "it broke", None, None)
    record.request = request
    handler.emit(record)

    assert_mail_queued(to="ops@example.com", subject="disk full", count=1)
    assert_mail_queued(to="ops@example.com", subject="it broke", count=1)


@pytest.mark.django_db
def test_a_command_that_sends_mail_queues_it():
    call_command("sendtestemail", "ada@example.com", "ben@example.com")

    assert_mail_queued(to=["ada@example.com", "ben@example.com"], subject="Test email", count=1)


@pytest.mark.django_db
def test_many_mails_in_one_call_are_rows_of_the_callers_transaction():
    mails = [("s", "b", "shop@example.org", [f"{number}@example.com"]) for number in range(3)]

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert mail.send_mass_mail(mails) == 3
        raise ZeroDivisionError
    assert not EmailJob.objects.exists()

    assert mail.send_mass_mail(mails) == 3
    assert EmailJob.objects.count() == 3
