"""System checks of the email queue, by their ids."""

from __future__ import annotations

from emails.checks import check_delivery, check_settings


def test_w001_without_a_delivery_url_mail_stays_queued(settings) -> None:
    settings.EMAIL_DELIVERY_URL = ""

    (message,) = check_delivery()

    assert message.id == "emails.W001"
    assert "mail stays queued" in message.msg


def test_w001_with_a_delivery_url_nothing_is_said(settings) -> None:
    settings.EMAIL_DELIVERY_URL = "smtp://mail.example.com"

    assert check_delivery() == []


def test_e001_a_setting_out_of_range_is_named(settings) -> None:
    settings.EMAIL_CONNECTIONS = 0

    (message,) = check_settings()

    assert message.id == "emails.E001"
    assert message.msg.startswith("EMAIL_CONNECTIONS=0 is not allowed")


def test_e001_a_delivery_url_that_cannot_be_used_is_said_once(settings) -> None:
    settings.EMAIL_DELIVERY_URL = "pigeon://loft"

    (message,) = check_settings()

    assert message.id == "emails.E001"
    assert check_delivery() == []
