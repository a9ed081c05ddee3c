from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.contrib.sessions.models import Session
from django.core import signing
from django.test import Client
from socketio.exceptions import ConnectionError as SocketConnectionError

from realtime import tokens
from realtime.models import RealtimeSession
from tests.conftest import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cookie_of():
    def sign_in(user):
        browser = Client()
        browser.force_login(user)
        return browser.cookies["sessionid"].value

    return sign_in


def refusal(sockets, site, **options):
    with pytest.raises(SocketConnectionError):
        sockets.connect(site.url, **options)
    assert not RealtimeSession.objects.exists()
    return sockets.clients[-1].refusals[-1]["message"]


def test_a_session_cookie_signs_in(site, sockets, make_user, cookie_of):
    client = sockets.connect(site.url, session=cookie_of(make_user()))

    assert client.subscribe("news") == {"ok": True}


def test_nobody_is_refused(site, sockets):
    assert refusal(sockets, site) == "unauthorized"


@pytest.mark.parametrize(
    "token",
    ["", "x", "a:b:c", "é" * 5000, signing.dumps({"user": "1"})],
    ids=["empty", "rubbish", "three parts", "long", "signed for something else"],
)
def test_a_forged_token_is_refused(site, sockets, make_user, token):
    make_user()

    assert refusal(sockets, site, token=token) == "unauthorized"


def test_a_refused_token_is_not_made_good_by_a_cookie(site, sockets, make_user, cookie_of):
    cookie = cookie_of(make_user())

    assert refusal(sockets, site, session=cookie, token="forged") == "unauthorized"


def test_an_expired_token_is_refused(site, sockets, make_user):
    assert refusal(sockets, site, token=tokens.token(make_user(), seconds=0)) == "unauthorized"


def test_a_deactivated_user_is_refused(site, sockets, make_user):
    user = make_user(is_active=False)

    assert refusal(sockets, site, token=tokens.token(user)) == "unauthorized"


def test_a_token_ends_with_the_password_that_it_was_made_under(site, sockets, make_user):
    user = make_user()
    token = tokens.token(user)
    user.set_password("another")
    user.save()

    assert refusal(sockets, site, token=token) == "unauthorized"


def test_who_is_no_longer_signed_in_is_dropped_at_the_next_renewal(
    site, sockets, make_user, cookie_of
):
    anna, ben, cleo = make_user("anna"), make_user("ben"), make_user("cleo")
    by_cookie = sockets.connect(site.url, session=cookie_of(anna))
    by_token = sockets.connect(site.url, token=tokens.token(ben))
    stays = sockets.connect(site.url, token=tokens.token(cleo))
    Session.objects.all().delete()
    ben.is_active = False
    ben.save()

    site.run(site.gateway.upkeep.renew())

    wait_until(lambda: by_cookie.names() == ["disconnect"])
    wait_until(lambda: by_token.names() == ["disconnect"])
    assert stays.subscribe("news") == {"ok": True}
    assert [one.sid for one in RealtimeSession.objects.all()] == [stays.sid]


def test_an_event_that_calls_itself_connect_or_disconnect_changes_nothing(
    site, sockets, make_user, cookie_of
):
    client = sockets.connect(site.url, token=tokens.token(make_user()))
    other = cookie_of(make_user("ben"))

    client.ask("connect", {"HTTP_COOKIE": f"sessionid={other}"})
    client.ask("disconnect", "io client disconnect")

    assert client.subscribe("news") == {"ok": True}
    session = RealtimeSession.objects.get()
    assert (session.sid, session.topics) == (client.sid, ["news"])


@pytest.fixture
def trusted(settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://app.example", "https://*.shop.example"]


FOREIGN = ("https://evil.example", "http://app.example", "https://shop.example.evil", "null")
OURS = ("https://app.example", "https://a.shop.example")


def test_another_site_may_not_open_a_websocket(site, sockets, make_user, cookie_of, trusted):
    cookie = cookie_of(make_user())

    for origin in FOREIGN:
        with pytest.raises(SocketConnectionError):
            sockets.connect(site.url, session=cookie, origin=origin)
    for origin in (*OURS, site.url):
        sockets.connect(site.url, session=cookie, origin=origin)

    assert RealtimeSession.objects.count() == 3


def test_another_site_may_not_poll(site, trusted):
    for origin in FOREIGN:
        assert polled(site, Origin=origin) == (403, None)
    for origin in (*OURS, site.url):
        assert polled(site, Origin=origin) == (200, origin)


def test_a_host_that_is_not_ours_is_refused(site):
    assert polled(site, Host="elsewhere.example") == (403, None)


def polled(site, **headers):
    """Return the status of the first poll, and which origin may read it."""
    request = Request(f"{site.url}/socket.io/?EIO=4&transport=polling", headers=headers)
    try:
        with urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers["Access-Control-Allow-Origin"]
    except HTTPError as error:
        with error:
            return error.code, error.headers["Access-Control-Allow-Origin"]
