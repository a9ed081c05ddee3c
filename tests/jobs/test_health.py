from __future__ import annotations

import http.client
import json
import socket
from contextlib import contextmanager

import pytest
from django.db import connection, connections
from django.urls import reverse

from jobs.errors import PortInUseError
from jobs.health import answers
from jobs.health import database as database_module
from jobs.health.answers import live, ready
from jobs.health.database import DatabaseCheck, unapplied
from jobs.health.state import ProcessHealth
from jobs.models.worker import ListenState
from jobs.workers.health import MOST_CONNECTIONS, HealthServer
from tests.conftest import wait_until


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def process(clock):
    return ProcessHealth(clock=clock)


@pytest.fixture
def check():
    return DatabaseCheck()


def codes(answer):
    return [reason["code"] for reason in answer.body["reasons"]]


@contextmanager
def alias(name, **changes):
    """Give Django another database: the test's own, with changes."""
    connections.settings[name] = {**connection.settings_dict, **changes}
    try:
        yield DatabaseCheck(using=name)
    finally:
        del connections.settings[name]


@contextmanager
def unapplied_migration(aside, app, name):
    """Let the database look older than the code."""
    gone = aside.execute(
        "DELETE FROM django_migrations WHERE app = %s AND name = %s RETURNING applied", [app, name]
    ).fetchone()
    assert gone
    try:
        yield
    finally:
        aside.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)",
            [app, name, *gone],
        )


# Loops


def test_a_process_without_loops_lives(process):
    answer = live(process)

    assert (answer.status, answer.body) == (200, {"alive": True, "reasons": []})


def test_a_loop_that_ticks_lives(process, clock):
    process.register("emails.processor", period_seconds=30)
    for _ in range(10):
        clock.now += 80
        process.tick("emails.processor")

    clock.now += 90

    assert live(process).status == 200


@pytest.mark.parametrize(("period", "limit"), [(2, 60), (20, 60), (30, 90), (3600, 10_800)])
def test_a_loop_may_be_silent_for_three_periods_and_at_least_a_minute(
    process, clock, period, limit
):
    process.register("emails.processor", period_seconds=period)
    clock.now += limit
    assert live(process).status == 200

    clock.now += 1

    answer = live(process)
    assert answer.status == 503
    assert answer.body == {
        "alive": False,
        "reasons": [
            {
                "code": "loop",
                "detail": f"emails.processor has not ticked for {limit + 1} s (at most {limit})",
            }
        ],
    }


def test_only_the_silent_loop_is_named(process, clock):
    process.register("jobs.alerts", period_seconds=10)
    process.register("emails.processor", period_seconds=10)
    clock.now += 61
    process.tick("jobs.alerts")

    (silent,) = process.silent_loops()

    assert silent.name == "emails.processor"


def test_a_loop_that_ticks_again_lives_again(process, clock):
    process.register("emails.processor", period_seconds=10)
    clock.now += 61
    assert process.silent_loops()

    process.tick("emails.processor")

    assert not process.silent_loops()


def test_nothing_is_expected_of_a_loop_that_has_ended(process, clock):
    process.register("emails.processor", period_seconds=10)
    process.unregister("emails.processor")
    process.tick("emails.processor")
    clock.now += 1000

    assert not process.silent_loops()


def test_loops_of_a_draining_process_owe_no_ticks(process, clock):
    process.register("emails.processor", period_seconds=10)
    process.set_draining()
    clock.now += 1000

    assert live(process).status == 200


# Readiness


@pytest.mark.django_db
def test_a_process_is_ready_with_a_migrated_database(process, check):
    answer = ready(process, database=check)

    assert answer.status == 200
    assert answer.body == {"ready": True, "reasons": [], "listen": None, "draining": False}


@pytest.mark.django_db
def test_polling_is_said_and_changes_nothing(process, check):
    process.set_listen(ListenState.POLLING)

    answer = ready(process, database=check)

    assert answer.status == 200
    assert answer.body["listen"] == "polling"


@pytest.mark.django_db
def test_a_draining_process_is_not_ready(process, check):
    process.set_draining()

    answer = ready(process, database=check)

    assert answer.status == 503
    assert answer.body["ready"] is False
    assert answer.body["draining"] is True
    assert codes(answer) == ["draining"]


@pytest.mark.django_db
def test_a_process_with_a_silent_loop_is_not_ready(process, check, clock):
    process.register("emails.processor", period_seconds=10)
    clock.now += 61

    answer = ready(process, database=check)

    assert codes(answer) == ["loop"]
    assert answer.status == 503


@pytest.mark.django_db
def test_a_database_that_is_down_is_a_reason_without_its_password(process):
    with alias("gone", HOST="127.0.0.1", PORT="1", PASSWORD="hush") as check:
        answer = ready(process, database=check)

    assert answer.status == 503
    assert codes(answer) == ["database"]
    assert "OperationalError" in answer.body["reasons"][0]["detail"]
    assert "hush" not in json.dumps(answer.body)


@pytest.mark.django_db
def test_a_database_that_comes_back_makes_ready_again(process, proxy, clock):
    with alias("proxied", **proxy.settings):
        check = DatabaseCheck(using="proxied", clock=clock)
        proxy.refuse()
        assert codes(ready(process, database=check)) == ["database"]

        proxy.accept_again()
        clock.now += 2

        assert ready(process, database=check).status == 200


@pytest.mark.django_db
def test_a_database_that_passes_no_bytes_does_not_hang_the_answer(process, proxy):
    with alias("proxied", **proxy.settings) as check:
        proxy.freeze(new_too=True)

        answer = ready(process, database=check)

        assert codes(answer) == ["database"]


@pytest.mark.django_db
def test_a_locked_table_does_not_hang_the_answer(process, check, aside):
    with aside.transaction():
        aside.execute("LOCK TABLE django_migrations IN ACCESS EXCLUSIVE MODE")

        answer = ready(process, database=check)

    assert codes(answer) == ["database"]


@pytest.mark.django_db
def test_a_database_older_than_the_code_is_a_reason(process, check, aside):
    with unapplied_migration(aside, "jobs", "0001_initial"):
        answer = ready(process, database=check)

    assert answer.status == 503
    assert answer.body["reasons"] == [
        {
            "code": "migrations",
            "detail": "1 not applied (jobs.0001_initial): run manage.py migrate",
        }
    ]


@pytest.mark.django_db
def test_migrating_makes_ready_without_a_restart(process, clock, aside):
    check = DatabaseCheck(clock=clock)
    with unapplied_migration(aside, "jobs", "0001_initial"):
        assert codes(ready(process, database=check)) == ["migrations"]

    clock.now += 2

    assert ready(process, database=check).status == 200


@pytest.mark.django_db
def test_a_database_without_any_tables_has_everything_unapplied(process):
    options = {**connection.settings_dict["OPTIONS"], "options": "-c search_path=nowhere"}
    with alias("empty", OPTIONS=options) as check:
        answer = ready(process, database=check)

    assert codes(answer) == ["migrations"]


@pytest.mark.django_db
def test_a_flood_of_questions_makes_one_connection_a_second(process, clock, monkeypatch):
    opened = []
    connect = database_module.direct.connect_like_django
    monkeypatch.setattr(
        database_module.direct,
        "connect_like_django",
        lambda **how: opened.append(how) or connect(**how),
    )
    check = DatabaseCheck(clock=clock)

    for _ in range(50):
        ready(process, database=check)
    clock.now += 1
    ready(process, database=check)

    assert len(opened) == 2


@pytest.mark.django_db
def test_no_connection_stays_behind(process, check, backends):
    ready(process, database=check)

    wait_until(lambda: not backends("engineroom-health"))


@pytest.fixture
def on_disk(monkeypatch):
    """Let the code have these migrations, each with what it replaces."""
    known = {}
    monkeypatch.setattr(database_module, "_migrations_on_disk", lambda: known)
    return known


def test_migrations_that_are_not_applied_are_listed_in_order(on_disk):
    on_disk.update({("b", "1"): (), ("a", "2"): (), ("a", "1"): ()})

    assert unapplied({("a", "1"), ("long gone", "1")}) == [("a", "2"), ("b", "1")]


def test_a_squashed_migration_is_applied_with_all_that_it_replaces(on_disk):
    on_disk.update({("a", "squashed"): (("a", "1"), ("a", "2"))})

    assert unapplied({("a", "1"), ("a", "2")}) == []
    assert unapplied({("a", "1")}) == [("a", "squashed")]
    assert unapplied({("a", "squashed")}) == []


def test_a_squash_of_squashes_is_applied_with_the_first_of_all(on_disk):
    on_disk.update(
        {("a", "all"): (("a", "half"), ("a", "3")), ("a", "half"): (("a", "1"), ("a", "2"))}
    )

    assert unapplied({("a", "1"), ("a", "2"), ("a", "3")}) == []


# The pages of the site


@pytest.mark.parametrize("method", ["get", "head"])
def test_the_site_answers_healthz_without_a_database(client, method):
    answer = getattr(client, method)(reverse("healthz"))

    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"


@pytest.mark.django_db
def test_the_site_answers_readyz(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get(reverse("readyz"))

    assert answer.status_code == 200
    assert answer.json()["ready"] is True


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["healthz", "readyz"])
def test_the_pages_are_never_cached_and_make_no_session(client, page):
    answer = client.get(reverse(page))

    assert "no-store" in answer["Cache-Control"]
    assert not answer.cookies


@pytest.mark.parametrize("page", ["healthz", "readyz"])
@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_the_pages_are_only_read(client, page, method):
    client.handler.enforce_csrf_checks = True

    answer = getattr(client, method)(reverse(page))

    assert answer.status_code == 405


def test_the_pages_are_at_the_root():
    assert (reverse("healthz"), reverse("readyz")) == ("/healthz", "/readyz")


# The server of a worker without a site


@pytest.fixture
def server():
    server = HealthServer("127.0.0.1", 0)
    server.start()
    yield server
    server.stop()


def ask(server, path, *, method="GET"):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        client.request(method, path)
        response = client.getresponse()
        return response, response.read()
    finally:
        client.close()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/readyz?from=somewhere"])
def test_a_worker_answers_as_the_site_does(server, path):
    response, content = ask(server, path)

    assert response.status == 200
    assert response.getheader("Content-Type") == "application/json"
    assert response.getheader("Cache-Control") == "no-store"
    assert json.loads(content)["reasons"] == []


def test_a_worker_says_which_loop_is_silent(server, monkeypatch, process, clock):
    process.register("emails.processor", period_seconds=1)
    clock.now += 61
    monkeypatch.setattr(answers.live, "__defaults__", (process,))

    response, content = ask(server, "/healthz")

    assert response.status == 503
    assert b"emails.processor" in content


def test_a_worker_answers_head_without_a_body(server):
    response, content = ask(server, "/healthz", method="HEAD")

    assert (response.status, content) == (200, b"")


@pytest.mark.parametrize("path", ["/", "/admin/", "/healthz/", "/%2e%2e/readyz"])
def test_a_worker_serves_nothing_else(server, path):
    response, _ = ask(server, path)

    assert response.status == 404


def test_a_worker_is_not_written_to(server):
    response, _ = ask(server, "/healthz", method="POST")

    assert response.status == 501


def test_an_address_in_use_is_named_with_its_setting(server):
    with pytest.raises(PortInUseError, match=rf"^WORKER_HEALTH=127\.0\.0\.1:{server.port} "):
        HealthServer("127.0.0.1", server.port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(PortInUseError, match="WORKER_HEALTH=192"):
        HealthServer("192.0.2.1", 8080)


def test_a_stopped_server_frees_its_address():
    first = HealthServer("127.0.0.1", 0)
    first.start()
    port = first.port

    first.stop()

    second = HealthServer("127.0.0.1", port)
    assert second.port == port
    second.stop()


def test_a_client_that_drips_is_cut_off():
    server = HealthServer("127.0.0.1", 0, connection_seconds=0.2)
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")

            assert client.recv(100) == b""
    finally:
        server.stop()


def test_clients_that_say_nothing_keep_no_more_than_a_few_threads(server):
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_CONNECTIONS)]
    wait_until(lambda: len(server._server._open) == MOST_CONNECTIONS)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as one_more:
        assert one_more.recv(100) == b""

    for client in silent:
        client.close()

    wait_until(lambda: not server._server._open)
    assert ask(server, "/healthz")[0].status == 200
