"""``manage.py outbox``, and the verb behind it."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import notifier
from jobs.audit import Refusal
from jobs.claims import claim_rows
from jobs.models import AuditLog
from jobs.models.audit import Via
from realtime.models import OutboxEvent
from realtime.verbs import retry
from tests.factories import UserFactory
from tests.jobs.commanding import Ended, manage
from tests.realtime.connected import connect
from tests.realtime.working import own_policy, put

pytestmark = pytest.mark.django_db


def run(*arguments: object, **options: bool) -> Ended:
    return manage("outbox", *arguments, app="realtime", **options)


def put_dead(*payloads: Any, key: str | None = None) -> list[int]:
    ids = put(*payloads, key=key)
    OutboxEvent.objects.filter(pk__in=ids).update(
        status="failed",
        attempts=8,
        last_error="ValueError: no\nand more",
        finished_at="2026-01-01T00:00Z",
    )
    return ids


def test_stats_are_lines_and_one_json_object() -> None:
    put(1, 2)
    put_dead(3)
    connect("s1", "7", "news")
    connect("gone", "7", "news", expired=True)

    lines, found = run("stats").lines, run("stats", "--json").json

    assert lines[0] == "pending: 2"
    assert (found["pending"], found["dead"], found["sessions"]) == (2, 1, 1)
    assert found["is_capped"] is False
    assert found["oldest_pending_at"].endswith("Z")


def test_list_is_an_aligned_table_and_one_json_object() -> None:
    put_dead(1, key="order:7")
    newest, *_ = put(2)

    table, found = run("list"), run("list", "--state", "dead", "--json").json

    header, *lines = table.lines
    assert header.split()[:5] == ["EVENT", "STATE", "TOPIC", "WHAT", "FOR"]
    assert lines[0].startswith(str(newest))
    assert "ValueError: no" in lines[1]
    assert set(found) == {"items", "next_before_id"}
    (item,) = found["items"]
    assert (item["state"], item["ordering_key"], item["mode"]) == ("dead", "order:7", "all")
    assert item["admin_url"].endswith(f"/admin/realtime/outboxevent/{item['id']}/change/")
    assert "payload" not in item
    assert "There is no such event." in run("list", "--topic", "other").err


def test_a_dead_letter_begins_anew_and_it_is_audited() -> None:
    woken: list[str] = []
    dead, *_ = put_dead(1)
    anna = UserFactory(username="anna")
    end = notifier.subscribe(woken.append)

    try:
        outcome = retry([dead], actor=anna, via=Via.ADMIN, reason="mended")
        again = retry([dead, 10**9], actor=anna, via=Via.ADMIN)
    finally:
        end()

    row = OutboxEvent.objects.get()
    assert (outcome.changed, row.status, row.attempts, row.finished_at) == (
        (dead,), "pending", 0, None,
    )  # fmt: skip
    assert again.changed == ()
    assert again.refused == (
        Refusal(id=dead, why="waits already"),
        Refusal(id=10**9, why="does not exist"),
    )
    entry = AuditLog.objects.get()
    assert (entry.actor, entry.verb, entry.target) == ("anna", "retry", f"realtime_outbox {dead}")


def test_what_is_in_work_or_delivered_is_left_alone() -> None:
    put(1)
    claim = claim_rows(own_policy())
    assert claim is not None
    (row,) = claim.rows

    assert retry([row.pk], actor=None, via=Via.COMMAND).refused[0].why == (
        "is being delivered right now"
    )


def test_retry_by_ids_and_all_dead_and_what_it_would_do() -> None:
    first, second = put_dead(1, 2)

    assert run("retry", first, "--dry-run").lines == [f"would retry 1 event: {first}"]
    assert run("retry", first, "--reason", "mended").lines == [f"retry 1 event: {first}"]
    assert AuditLog.objects.get().reason == "mended"
    assert run("retry", "--all-dead", "--json").json["changed"] == [second]
    refused = run("retry", first)
    assert (refused.code, refused.lines[1]) == (1, f"left alone: {first} waits already")
    assert run("retry", "--all-dead").code == 0
    assert (run("retry").code, run("retry", first, "--all-dead").code) == (2, 2)
    assert run("retry", "x").code == 2


def test_more_than_a_thousand_are_retried_only_with_a_yes() -> None:
    put_dead(*range(1001))

    asked = run("retry", "--all-dead")
    assert asked.code != 0
    assert not OutboxEvent.objects.filter(status="pending").exists()

    assert run("retry", "--all-dead", "--yes").code == 0
    assert OutboxEvent.objects.filter(status="pending").count() == 1001
