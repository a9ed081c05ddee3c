"""
The page of runs as they happen, and the tutorial's client, in a real browser.

One process serves the site, runs the jobs and holds the browser's socket, as on a single
server; it knows nothing of the test but the database.
"""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

import realtime
from jobs.models import JobRun
from realtime.models import RealtimeSession
from tests.browser.conftest import PICTURES, _watched
from tests.conftest import wait_until
from tests.crash.harness import Fleet, url_of
from tests.factories import JobRunFactory

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(120),
]
JOB = "shop.watch"
TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "realtime-client.md"


@pytest.fixture
def site(transactional_db, tmp_path):
    """Serve the site with its jobs; give its fleet and its address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    watch = json.dumps([{"id": JOB, "cadence": "by hand", "work": "watch"}])
    with Fleet(tmp_path, database_url=url_of(connection.settings_dict), SCHEDULED=watch) as fleet:
        web = f"127.0.0.1:{port}"
        process = fleet.start("--web", web, "--only", JOB, "realtime.outbox")
        process.await_output(f"Serving http://{web}")
        fleet.process = process
        fleet.url = f"http://{web}"
        yield fleet


@pytest.fixture
def tab(browser, site, theme):
    """A tab of the site's that nobody has signed in on."""
    context = browser.new_context(color_scheme=theme, viewport={"width": 1280, "height": 900})
    tab = _watched(context, site.url)
    yield tab
    context.close()
    assert tab.complaints == []


def sign_in(tab, **fields):
    user = get_user_model().objects.create_user("anna", password="only-here", **fields)
    client = Client()
    client.force_login(user)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": tab.address}
    tab.page.context.add_cookies([cookie])
    return user


def test_runs_come_and_go_on_the_page_as_they_happen(site, tab, theme):
    sign_in(tab, is_staff=True, is_superuser=True)
    tab.open("/admin/realtime/live/")
    assert "No job has run yet" in tab.page.locator(".console-empty").inner_text()
    tab.page.wait_for_selector("[data-realtime-state]:has-text('live')")
    picture(tab, f"live-empty-{theme}")

    site.run("jobs", "run", JOB).wait()

    row = tab.page.locator("[data-realtime-runs] tbody tr")
    row.filter(has_text="running").wait_for()
    picture(tab, f"live-running-{theme}")
    run = JobRun.objects.get(job_id=JOB)
    site.run("jobs", "cancel", str(run.pk), "--yes").wait()
    row.filter(has_text="cancelled").wait_for()
    assert tab.page.locator("[data-realtime-last]").inner_text() == f"last: {JOB} cancelled"
    picture(tab, f"live-cancelled-{theme}")

    # The connection is lost for a while: the page says so, and then what came meanwhile.
    tab.page.context.set_offline(offline=True)
    wait_until(lambda: not RealtimeSession.objects.exists(), what="the session is gone")
    JobRunFactory.create_batch(30)
    failed = JobRunFactory(failed=True)
    tab.page.context.set_offline(offline=False)
    tab.page.locator(f"[data-run='{failed.pk}']").wait_for(timeout=30_000)
    picture(tab, f"live-many-{theme}")
    tab.complaints.clear()

    tab.page.get_by_role("link", name=str(failed.pk), exact=True).click()
    tab.page.wait_for_url(f"**/jobrun/{failed.pk}/change/")


def test_the_tutorials_client_shows_a_list_that_keeps_itself_current(site, tab):
    sign_in(tab, is_staff=True)
    shown = [{"id": 1, "title": "one"}, {"id": 2, "title": "two"}]
    serve(tab, "**/notes.json", lambda: json.dumps(shown))
    serve(tab, "**/notes.js", tutorial_client)
    tab.open("/admin/")
    tab.page.evaluate("document.body.innerHTML = '<ul id=\"notes\"></ul>'")
    tab.page.add_script_tag(url="/static/realtime/socket.io.min.js")
    tab.page.add_script_tag(url="/notes.js")
    await_list(tab, ["one", "two"])

    publish("update", {"id": 1, "title": "eins"})
    publish("insert", {"id": 3, "title": "<b>drei</b>"})
    publish("delete", {"id": 2})
    await_list(tab, ["eins", "<b>drei</b>"])

    # A break: what came meanwhile is told afterwards, without the list being read.
    shown.clear()
    tab.page.evaluate("socket.io.engine.close()")
    publish("update", {"id": 1, "title": "uno"})
    await_list(tab, ["uno", "<b>drei</b>"])
    tab.page.evaluate("last = 0; socket.io.engine.close()")
    await_list(tab, [])

    # Who may not see runs gets neither their topic nor the page.
    wish = "new Promise(resolve => socket.emit('subscribe', {topic: 'jobs.runs'}, resolve))"
    assert tab.page.evaluate(wish) == {"error": "forbidden"}
    assert tab.page.goto(f"{site.url}/admin/realtime/live/").status == 403
    tab.complaints.clear()


def serve(tab, pattern, body):
    tab.page.route(pattern, lambda route: route.fulfill(body=body()))


def tutorial_client():
    (code,) = re.findall(r"```js\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 32
    return code


def publish(event, payload):
    realtime.publish("notes", event=event, payload=payload, audience={"mode": "all"})


def await_list(tab, titles):
    tab.page.wait_for_function(
        "titles => JSON.stringify([...document.querySelectorAll('#notes li')]"
        ".map(one => one.textContent)) === JSON.stringify(titles)",
        arg=titles,
    )


def picture(tab, name):
    PICTURES.mkdir(exist_ok=True)
    tab.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)
