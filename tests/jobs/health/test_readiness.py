"""A process is ready when it can serve."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from django.db import connection, connections

from jobs.health import database as database_module
from jobs.health.answers import ready
from jobs.health.database import DatabaseCheck
from jobs.models.worker import ListenState
from tests.conftest import wait_until


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
