"""A hostile mail, opened in a real browser by somebody who may do everything."""

from __future__ import annotations

import pytest
from django.core.mail import EmailMultiAlternatives
from django.test import Client

import emails
from tests.factories import UserFactory

HOSTILE = (
    '<h1 id="hello">Hello</h1><style>h1 { color: rgb(1, 2, 3) }</style>'
    "<script>document.getElementById('hello').textContent = 'ran'</script>"
    '<img src="https://tracker.invalid/pixel.png" onerror="parent.document.title=1">'
    '<link rel="stylesheet" href="https://tracker.invalid/style.css">'
    '<meta http-equiv="refresh" content="0; url=https://tracker.invalid/refresh">'
    '<iframe src="https://tracker.invalid/frame"></iframe>'
)


@pytest.mark.browser
def test_the_html_of_a_mail_is_drawn_and_runs_nothing_and_loads_nothing(
    transactional_db, queue_backend, browser, live_server
):
    client = Client()
    client.force_login(UserFactory(is_superuser=True))
    message = EmailMultiAlternatives("s", "plain", "s@example.org", ["a@example.com"])
    message.attach_alternative(HOSTILE, "text/html")
    mail = emails.enqueue(message)
    context = browser.new_context()
    cookie = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page = context.new_page()
    asked: list[str] = []
    context.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))

    page.goto(f"{live_server.url}/admin/emails/emailjob/{mail.pk}/body/")
    frame = page.frame_locator("iframe.console-mail")
    frame.locator("#hello").wait_for(timeout=15_000)
    title = page.title()
    text = frame.locator("#hello").inner_text()
    color = frame.locator("#hello").evaluate("e => getComputedStyle(e).color")
    page.locator("iframe.console-mail").screenshot()  # everything is drawn by now
    context.close()

    assert text == "Hello"
    assert color == "rgb(1, 2, 3)"
    assert title.startswith("Message of mail")
    assert [url for url in asked if "tracker.invalid" in url] == []
    assert all(url.startswith((live_server.url, "data:")) for url in asked)
