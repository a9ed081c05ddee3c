"""One-time links into the console."""

from __future__ import annotations

import datetime as dt
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from jobs.clock import ago
from jobs.signin import links
from jobs.signin.links import create_link, digest_of, spend
from jobs.signin.models import SigninAttempt, SigninLink
from tests.factories import UserFactory


@pytest.fixture
def link(db) -> tuple[SigninLink, str]:
    return create_link(UserFactory(username="anna", is_superuser=True))


def token_in(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def test_the_button_signs_in_and_leads_to_the_admin(link, client):
    response = client.post(link[1])

    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")
    assert client.get("/admin/").status_code == 200


def test_opening_a_link_spends_nothing_and_reads_no_table(link, client, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get(link[1]).status_code == 200

    assert client.post(link[1]).status_code == 302


def test_a_link_works_once(link, client):
    client.post(link[1])

    second = Client().post(link[1])

    assert second.status_code == 410
    assert b"signs nobody in" in second.content
    link[0].refresh_from_db()
    assert link[0].attempts == 1


def test_a_link_is_over_after_15_minutes_by_the_clock_of_the_database(link, client):
    row = link[0]
    row.refresh_from_db()
    assert row.expires_at - row.created_at == pytest.approx(
        dt.timedelta(minutes=15), abs=dt.timedelta(seconds=5)
    )
    SigninLink.objects.update(expires_at=ago(1))

    assert client.post(link[1]).status_code == 410
    assert "_auth_user_id" not in client.session


def test_the_table_holds_no_token(link):
    row, path = link

    assert row.digest == digest_of(token_in(path))
    stored = " ".join(str(value) for value in SigninLink.objects.values_list().get())
    assert token_in(path) not in stored


def test_an_inactive_user_is_not_signed_in(link, client):
    user = link[0].user
    user.is_active = False
    user.save()

    assert client.post(link[1]).status_code == 410

    row = SigninLink.objects.get()
    assert (row.used_at, row.attempts) == (None, 1)


def test_a_link_is_dead_after_five_refused_uses(link, client):
    user = link[0].user
    user.is_active = False
    user.save()
    for _ in range(7):
        client.post(link[1])
    user.is_active = True
    user.save()

    assert client.post(link[1]).status_code == 410

    assert SigninLink.objects.get().attempts == 5


def test_unknown_and_used_links_get_the_same_answer(link, client):
    client.post(link[1])

    used = Client().post(link[1])
    unknown = Client().post("/signin/does-not-exist/")

    assert used.status_code == unknown.status_code == 410
    assert used.content == unknown.content


def test_wrong_tokens_cannot_be_tried_without_limit(link, client):
    for number in range(links.ADDRESS_ATTEMPTS):
        assert client.post(f"/signin/guess-{number}/").status_code == 410

    assert client.post("/signin/one-more/").status_code == 429
    # Not even the right one: the answer would tell a guesser.
    assert client.post(link[1]).status_code == 429
    assert SigninAttempt.objects.count() == links.ADDRESS_ATTEMPTS
    # Another address is not disturbed.
    assert client.post(link[1], REMOTE_ADDR="192.0.2.7").status_code == 302


def test_the_limit_of_an_address_is_over_after_the_window(link, client):
    for number in range(links.ADDRESS_ATTEMPTS):
        client.post(f"/signin/guess-{number}/")
    SigninAttempt.objects.update(at=ago(links.ADDRESS_WINDOW_MS + 1000))

    assert client.post(link[1]).status_code == 302


def test_attempts_hold_no_address(client, db):
    client.post("/signin/guess/", REMOTE_ADDR="192.0.2.7")

    assert "192.0.2.7" not in SigninAttempt.objects.get().address_digest


def test_the_form_is_protected_against_forged_requests(link):
    forged = Client(enforce_csrf_checks=True).post(link[1])

    assert forged.status_code == 403
    assert SigninLink.objects.get().used_at is None


def test_no_cache_keeps_the_page_and_no_other_site_learns_its_address(link, client):
    for response in (client.get(link[1]), client.post(link[1])):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.django_db(transaction=True)
def test_of_many_uses_at_once_only_one_signs_in():
    _, path = create_link(UserFactory())
    barrier = threading.Barrier(4)
    signed_in: list[object] = []

    def use() -> None:
        try:
            barrier.wait(10)
            signed_in.append(spend(token_in(path)))
        finally:
            connection.close()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(signed_in) == 4
    assert sum(user is not None for user in signed_in) == 1


def test_the_command_prints_a_link_that_works(db, settings, capsys, client):
    UserFactory(username="anna", is_superuser=True)
    settings.PUBLIC_URL = "https://ops.example.org/"

    call_command("signin_link", "anna")

    address = capsys.readouterr().out.strip()
    assert address.startswith("https://ops.example.org/signin/")
    assert client.post(address.removeprefix("https://ops.example.org")).status_code == 302


def test_the_command_falls_back_to_the_address_of_the_web_process(db, settings, capsys):
    UserFactory(username="anna")
    settings.PUBLIC_URL = ""
    settings.ENGINEROOM_WEB = "127.0.0.1:8123"

    call_command("signin_link", "anna")

    assert capsys.readouterr().out.startswith("http://127.0.0.1:8123/signin/")


@pytest.mark.parametrize(
    ("traits", "asked", "said"),
    [
        ({"username": "anna"}, "ana", "did you mean anna?"),
        ({"username": "zoe"}, "qwert", "createsuperuser"),
        ({"username": "anna", "is_active": False}, "anna", "activate it"),
        ({"username": "anna", "is_staff": False}, "anna", "staff status"),
    ],
)
def test_the_command_says_why_there_is_no_link(db, traits, asked, said):
    UserFactory(**traits)

    with pytest.raises(CommandError, match=said) as caught:
        call_command("signin_link", asked)

    assert caught.value.returncode == 1
    assert not SigninLink.objects.exists()
