"""A real browser on Debian's Chromium, that notices what the console complains of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from playwright.sync_api import BrowserContext, Page, Request

from tests.forms import form

PICTURES = Path(__file__).resolve().parents[2] / "test-artifacts"


@dataclass
class Tab:
    """A page, and what went wrong on it."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to a path of the site."""
        self.page.goto(f"{self.address}{path}")

    def picture(self, name: str) -> None:
        """Keep a picture of the whole page."""
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@pytest.fixture(params=form(short=["light"], full=["light", "dark"]))
def theme(request) -> str:
    return str(request.param)


@pytest.fixture
def visitor(browser, live_server, theme) -> Iterator[Tab]:
    """A tab of somebody who has not signed in."""
    context = browser.new_context(color_scheme=theme, viewport={"width": 1280, "height": 900})
    tab = _watched(context, live_server.url)
    yield tab
    context.close()
    assert tab.complaints == []


@pytest.fixture
def operator(visitor, live_server) -> Tab:
    """A tab of a superuser."""
    user = get_user_model().objects.create_superuser("anna", password="only-here")
    client = Client()
    client.force_login(user)
    cookie = client.cookies["sessionid"].value
    visitor.page.context.add_cookies(
        [{"name": "sessionid", "value": cookie, "url": live_server.url}]
    )
    return visitor


def _watched(context: BrowserContext, address: str) -> Tab:
    # Violations of the content policy are errors of the browser's own console.
    page = context.new_page()
    page.set_default_timeout(15_000)
    tab = Tab(page=page, address=address)
    page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    page.on("console", lambda line: _note(tab, line.type, line.text))
    page.on("requestfailed", lambda request: _note_failure(tab, request))
    return tab


def _note_failure(tab: Tab, request: Request) -> None:
    # A second press takes the place of the first one's request.
    if request.failure != "net::ERR_ABORTED":
        tab.complaints.append(f"failed: {request.url} {request.failure}")


def _note(tab: Tab, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        tab.complaints.append(f"{kind}: {text}")
