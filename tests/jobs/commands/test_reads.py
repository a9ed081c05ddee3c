"""``manage.py alerts``, ``workers``, ``activity`` and ``deadletters``."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection

from jobs.models import ActivityLog, Alert, AuditLog
from jobs.reads import activity_search
from jobs.reads.activity_search import ActivityFollower, ActivityQuery
from jobs.reads.bounded import bounded
from jobs.testing import database_clock
from tests.factories import ActivityLogFactory, UserFactory, WorkerFactory
from tests.jobs.commanding import manage, same_as_snapshot
from tests.testapp.models import Parcel

NOW = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _still():
    with database_clock(NOW):
        yield


def ago(**units: float) -> dt.datetime:
    return NOW - dt.timedelta(**units)


def alert(**fields) -> Alert:
    known = {
        "rule": "missed_window",
        "subject": "shop.orders",
        "detail": "due 10:00 UTC, grace 10 min, no run started",
        "opened_at": ago(hours=1),
        "last_seen_at": ago(minutes=1),
    }
    return Alert.objects.create(**(known | fields))


# --- alerts


def test_alerts_list_shows_open_ones_newest_first() -> None:
    alert(resolved_at=ago(minutes=5), subject="shop.mended")
    first, second = alert(), alert(rule="no_worker", subject="-")

    ended = manage("alerts", "list")

    assert ended.lines[0].split()[:4] == ["ALERT", "RULE", "SUBJECT", "STATE"]
    assert [line.split()[:2] for line in ended.lines[1:]] == [
        [str(second.pk), "no_worker"],
        [str(first.pk), "missed_window"],
    ]


def test_alerts_list_is_narrowed_by_state_rule_and_subject() -> None:
    resolved = alert(resolved_at=ago(minutes=5), subject="shop.mended")
    opened, worker = alert(), alert(rule="no_worker", subject="-")

    def ids(*arguments: str) -> list[int]:
        return [item["id"] for item in manage("alerts", "list", *arguments, "--json").json["items"]]

    assert ids("--state", "resolved") == [resolved.pk]
    assert ids("--state", "all") == [worker.pk, opened.pk, resolved.pk]
    assert ids("--rule", "no_worker") == [worker.pk]
    assert ids("--subject", "shop.orders") == [opened.pk]


def test_alerts_list_as_json() -> None:
    alert(id=12, evidence={"run_ids": [7, 8]})

    same_as_snapshot("alerts_list", manage("alerts", "list", "--json").json)


def test_ack_writes_who_knows_why_and_until_when_and_one_row_of_the_audit() -> None:
    UserFactory(username="anna")
    found = alert()

    ended = manage("alerts", "ack", found.pk, "--note", "on it", "--until", "2h", "--user", "anna")

    found.refresh_from_db()
    assert (ended.code, ended.out) == (0, f"acknowledged alert {found.pk}\n")
    assert (found.acknowledged_by, found.note) == ("anna", "on it")
    assert found.acknowledged_until == NOW + dt.timedelta(hours=2)
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.via, entry.verb) == ("anna", "command", "acknowledge")
    assert "anna until 14:00:00 UTC" in manage("alerts", "list").out


def test_ack_twice_says_so_and_acts_once() -> None:
    found = alert()

    answers = [manage("alerts", "ack", found.pk, "--json").json["changed"] for _ in range(2)]

    assert answers == [True, False]
    assert AuditLog.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "arguments", "code", "words"),
    [
        ({"resolved_at": NOW}, (), 1, "resolved already"),
        ({}, ("--until", "2026-11-30"), 1, "past"),
        ({}, ("--until", "soon"), 2, "--until"),
    ],
)
def test_ack_refuses_what_cannot_be(fields, arguments, code, words) -> None:
    found = alert(**fields)

    ended = manage("alerts", "ack", found.pk, *arguments)

    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err


def test_ack_of_an_alert_that_is_not_there_is_a_problem() -> None:
    ended = manage("alerts", "ack", "999")

    assert (ended.code, ended.out) == (1, "")
    assert "no alert 999" in ended.err


# --- workers


def test_workers_list_says_who_is_alive() -> None:
    WorkerFactory(name="web-1:1:aa", heartbeat_at=ago(seconds=5))
    WorkerFactory(name="web-1:2:bb", heartbeat_at=ago(minutes=5))
    WorkerFactory(name="web-1:3:cc", heartbeat_at=ago(minutes=5), stopped_at=ago(minutes=5))
    WorkerFactory(name="web-1:4:dd", heartbeat_at=ago(seconds=5), draining=True)

    ended = manage("workers", "list")

    states = {line.split()[0]: line.split()[1] for line in ended.lines[1:]}
    assert states == {
        "web-1:1:aa": "alive",
        "web-1:2:bb": "dead",
        "web-1:3:cc": "stopped",
        "web-1:4:dd": "draining",
    }
    assert ended.err == ""


def test_workers_list_without_a_living_one_says_how_to_start_one() -> None:
    WorkerFactory(heartbeat_at=ago(minutes=5))

    assert "manage.py runworkers" in manage("workers", "list").err


def test_workers_list_as_json() -> None:
    WorkerFactory(
        name="web-1:4121:a1b2c3",
        pid=4121,
        started_at=ago(hours=3),
        heartbeat_at=ago(seconds=5),
        loops={"emails.processor": {"ticked_at": "2026-12-01T11:59:58+00:00", "state": "waiting"}},
    )

    same_as_snapshot("workers_list", manage("workers", "list", "--json").json)


# --- activity


def test_tail_prints_the_last_lines_the_newest_last() -> None:
    for number in range(3):
        ActivityLogFactory(message=f"swept {number} rows", at=ago(minutes=3 - number))

    ended = manage("activity", "tail", "--limit", 2)

    assert [line.split("-  ")[-1].strip() for line in ended.lines] == [
        "swept 1 rows",
        "swept 2 rows",
    ]
    assert ended.lines[0].startswith("2026-12-01 11:58:00  info")


def test_tail_is_narrowed_by_each_option() -> None:
    ActivityLogFactory(message="old", at=ago(days=3))
    ActivityLogFactory(message="mail", source="email", at=ago(hours=2))
    ActivityLogFactory(message="bad", level="error", at=ago(hours=2))
    ActivityLogFactory(message="job", job_id="shop.orders", at=ago(hours=2))
    ActivityLogFactory(message="run", run_id=7, at=ago(minutes=1))

    def messages(*arguments: str) -> list[str]:
        items = manage("activity", "tail", *arguments, "--json").json["items"]
        return [item["message"] for item in items]

    assert messages() == ["run", "job", "bad", "mail"]
    assert messages("--source", "email") == ["mail"]
    assert messages("--level", "error") == ["bad"]
    assert messages("--job", "shop.orders") == ["job"]
    assert messages("--run", "7") == ["run"]
    assert messages("--since", "1h") == ["run"]
    assert messages("--since", "7d")[-1] == "old"


def test_tail_as_json() -> None:
    ActivityLogFactory(
        id=3, message="swept 12 rows", run_id=48121, context={"shelf": 7}, at=ago(minutes=1)
    )

    same_as_snapshot("activity_tail", manage("activity", "tail", "--json").json)


def test_search_finds_text_within_its_window_only() -> None:
    ActivityLogFactory(message="Shelf 7 is empty", at=ago(days=3))
    inside = ActivityLogFactory(message="the shelf 7 broke", at=ago(hours=5))
    ActivityLogFactory(message="swept", at=ago(hours=5))
    late = ActivityLogFactory(message="shelf 7 mended", at=ago(hours=1))

    def ids(*arguments: str) -> list[int]:
        ended = manage("activity", "search", *arguments, "--json")
        return [item["id"] for item in ended.json["items"]]

    assert ids("shelf 7") == [late.pk, inside.pk]
    assert ids("SHELF 7", "--until", "2h") == [inside.pk]
    assert ids("shelf 7", "--since", "2h") == [late.pk]
    assert len(ids("shelf 7", "--since", "7d")) == 3
    assert ids("100%") == []


def test_search_refuses_a_window_that_ends_before_it_begins() -> None:
    ended = manage("activity", "search", "x", "--since", "1h", "--until", "2h")

    assert (ended.code, ended.out) == (2, "")
    assert "--since" in ended.err
    assert "--until" in ended.err


def test_a_search_that_takes_too_long_is_refused_with_a_hint(monkeypatch) -> None:
    ActivityLogFactory(at=ago(minutes=1))

    def slow(*args: object, **kwargs: object) -> None:
        with bounded(milliseconds=50), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(20)")

    monkeypatch.setattr("jobs.management.commands.activity.search_activity", slow)

    ended = manage("activity", "search", "x")

    assert (ended.code, ended.out) == (1, "")
    assert "narrow the time range" in ended.err


def test_following_shows_each_line_once_also_one_that_was_committed_late() -> None:
    first = ActivityLogFactory(message="first", at=ago(minutes=1))
    follower = ActivityFollower(query=ActivityQuery())
    follower.begin(manage_items())

    nothing = follower.look()
    late_id = first.pk + 1
    ActivityLogFactory(id=first.pk + 2, message="second", at=NOW)
    second = follower.look()
    ActivityLogFactory(id=late_id, message="late", at=NOW)
    third = follower.look()

    assert nothing == ()
    assert [line.message for line in second] == ["second"]
    assert [line.message for line in third] == ["late"]
    assert follower.look() == ()


def manage_items():
    return activity_search.search_activity(ActivityQuery(), since=ago(days=1)).items


def test_following_forgets_what_is_long_settled(monkeypatch) -> None:
    follower = ActivityFollower(query=ActivityQuery())
    follower.begin(())
    ActivityLogFactory(message="settled", at=ago(minutes=5))
    ActivityLogFactory(message="fresh", at=NOW)

    assert len(follower.look()) == 2

    settled = ActivityLog.objects.get(message="settled")
    assert follower._floor == settled.pk
    assert len(follower._seen) == 1
    assert follower.look() == ()


# --- dead letters


def dead_parcel(error: str, **fields) -> Parcel:
    parcel = Parcel.objects.create(
        address="Elm Street 1", instruction="", status="failed", last_error=error
    )
    Parcel.objects.filter(pk=parcel.pk).update(created_at=fields.get("created_at", ago(hours=1)))
    return parcel


def test_deadletters_list_has_a_line_per_queue_with_count_oldest_and_reasons() -> None:
    dead_parcel("ValueError: no house 7 there\n  File", created_at=ago(days=2))
    dead_parcel("ValueError: no house 12 there")
    dead_parcel("Timeout: after 30 s")

    ended = manage("deadletters", "list")

    line = next(line for line in ended.lines if line.startswith("testapp_parcels"))
    assert line.split()[1] == "3"
    assert "2 d ago" in line
    assert "2 x ValueError: no house # there; 1 x Timeout: after # s" in line
    assert any(line.split()[:2] == ["email_jobs", "0"] for line in ended.lines)


def test_deadletters_list_as_json() -> None:
    dead_parcel("ValueError: no house 7 there", created_at=ago(days=2))

    found = manage("deadletters", "list", "--json").json
    items = {item["id"]: item for item in found["items"]}

    assert items["email_jobs"]["admin_url"].endswith("/admin/emails/emailjob/?status=dead")
    same_as_snapshot("deadletters_list", found | {"items": [items["testapp_parcels"]]})


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("jobs", ("list",)),
        ("jobs", ("runs",)),
        ("alerts", ("list",)),
        ("workers", ("list",)),
        ("activity", ("tail",)),
        ("activity", ("search",)),
        ("deadletters", ("list",)),
        ("console_groups", ()),
    ],
)
def test_every_list_is_one_object_of_items_with_ids_and_addresses(command, arguments) -> None:
    alert()
    WorkerFactory()
    ActivityLogFactory(at=NOW)

    found = manage(command, *arguments, "--json").json

    assert {"items", "next_before_id"} <= found.keys()
    assert all({"id", "admin_url"} <= item.keys() for item in found["items"])
