"""How the server carries out a batch on big tables, and what an old snapshot costs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction

from jobs import direct
from jobs.alerts import statements as engine
from jobs.pruning import Prunable, targets
from jobs.schedule import database_now
from jobs.transactions import run_shortly
from retention.sessions import all_expired
from retention.statements import DueRows
from tests.factories import UserFactory
from tests.plans.statements import plan_of

pytestmark = [pytest.mark.plans]
ROWS = 10_000
BATCH = 100
FILL = """
CREATE TEMP TABLE old ON COMMIT DROP AS
SELECT n, now() - n * interval '1 minute' AS at FROM generate_series(1, %(rows)s) AS n;
INSERT INTO job_runs (job_id, trigger, status, created_at)
SELECT 'shop.' || n %% 7, 'schedule', CASE n %% 900 WHEN 0 THEN 'failed' ELSE 'succeeded' END, at
FROM old;
INSERT INTO activity_log (at, source, level, message, context, run_id)
SELECT at, 'job', 'info', 'x', '{}', nullif(n, n / 20 * 20) FROM old;
INSERT INTO alerts (rule, subject, evidence, notifications, resolved_at)
SELECT 'stalled', n::text, '{}', '[]', at FROM old;
INSERT INTO email_jobs (status, sent_at, created_at, recipients, mail_from, message_id, size)
SELECT status, CASE status WHEN 'sent' THEN at END, at, '[]', '', n::text, 1
FROM old, LATERAL (
  SELECT CASE n %% 50 WHEN 0 THEN 'failed' WHEN 1 THEN 'cancelled' ELSE 'sent' END AS status
) AS standing;
INSERT INTO email_bodies (email_id, raw) SELECT id, 'x' FROM email_jobs;
INSERT INTO user_deletions (user_id, requested_by, status, done_at, snapshot)
SELECT n::text, '', 'done', at, '{}' FROM old;
INSERT INTO user_deletion_steps (deletion_id, name, half, position, left_behind, idempotency_key)
SELECT id, 'rows', 'local', 0, '', id::text FROM user_deletions;
INSERT INTO bucket_deletion_jobs
  (bucket_name, endpoint, status, done_at, total_objects, failed_keys)
SELECT n::text, 's3://store.example/', 'done', at, 0, '[]' FROM old;
INSERT INTO billing_audit (at, deletion_id, url, idempotency_key)
SELECT at - interval '1 year', n, '', '' FROM old;
INSERT INTO signin_attempts (at, address_digest) SELECT at, n::text FROM old;
INSERT INTO signin_links (user_id, digest, expires_at, used_at)
SELECT %(user)s, n::text, at, CASE n %% 2 WHEN 0 THEN at END FROM old;
INSERT INTO django_session (session_key, session_data, expire_date)
SELECT md5(n::text), repeat('x', 100), at FROM old;
ANALYZE
"""


def fill() -> None:
    """Fill every table that is swept, with statistics."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"rows": ROWS, "user": UserFactory().pk})


def due(prunable: Prunable) -> DueRows:
    return DueRows(prunable=prunable, condition=prunable.condition(), cutoff=database_now())


def read_whole(nodes: list[dict[str, Any]]) -> list[str]:
    """Return the tables that a plan reads from end to end."""
    return [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]


def plans_by_age(rows: DueRows, last: str) -> dict[str, list[str]]:
    """Return the tables that are read whole by what deletes a range of ages, or one age."""
    name = rows.prunable.name
    crowd = rows.crowd(limit=50 * BATCH, age=last)
    [[(places,)]] = run_shortly(rows.using, crowd)
    found = {
        f"crowd of {name}": read_whole(plan_of(crowd)),
        f"places of {name}": read_whole(plan_of(rows.at_places(places, limit=BATCH))),
    }
    for ending in (None, last) if rows.range is not None else ():
        deletion = rows.range.deletion(limit=BATCH, last=ending)
        found[f"range of {name} {ending}"] = read_whole(plan_of(deletion))
    return found


@pytest.mark.django_db
def test_no_statement_of_what_ships_reads_a_table_from_end_to_end() -> None:
    fill()
    found = {}

    for prunable in (*targets, *all_expired()):
        if prunable.model._meta.app_label in ("realtime", "retention"):
            continue  # filled by the tests of their own
        rows = due(prunable)
        [[(deleted, _, last)]] = run_shortly(rows.using, rows.batch(limit=BATCH))
        assert deleted, prunable.name
        statement = rows.batch(limit=BATCH, last=last)
        assert statement is not None
        found[prunable.name] = read_whole(plan_of(statement))
        if not rows.is_walked_by_key:
            found.update(plans_by_age(rows, last))
        found[f"probe of {prunable.name}"] = read_whole(plan_of(rows.probe()))
    found["kept_runs"] = read_whole(plan_of(engine._text("kept_runs") % {"others": 49}))

    assert {name: tables for name, tables in found.items() if tables} == {}


@pytest.fixture
def old_snapshot(request, transactional_db) -> Iterator[None]:
    """Sessions that somebody's report still sees: a minute apart, or with a step of their own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_session (session_key, session_data, expire_date)"
            " SELECT md5(n::text), repeat('x', 100), now() - interval '1 hour' - n * %s::interval"
            " FROM generate_series(1, %s) AS n ORDER BY 1",
            [getattr(request, "param", "1 minute"), ROWS],
        )
        cursor.execute("ANALYZE django_session")
    with direct.connect(application_name="report") as report:
        report.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        report.execute("SELECT count(*) FROM django_session")
        yield


def due_sessions() -> DueRows:
    (sessions,) = [rows for rows in all_expired() if rows.model is Session]
    return due(sessions)


def pages_of(statement: str) -> int:
    """Run a batch, take it back, and return how many pages it has touched."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
        (answer,) = cursor.fetchone()
        transaction.set_rollback(True)
    plan = answer[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_a_late_batch_under_an_old_snapshot_touches_no_more_pages_than_an_early_one(
    old_snapshot,
) -> None:
    rows = due_sessions()
    last: Any = None
    early = pages_of(rows.batch(limit=BATCH))

    for _ in range(ROWS // BATCH - 10):
        [[(deleted, _, last)]] = run_shortly(rows.using, rows.batch(limit=BATCH, last=last))
        assert deleted == BATCH

    late = pages_of(rows.batch(limit=BATCH, last=last))
    late_range = pages_of(rows.range.deletion(limit=BATCH, last=last))
    from_the_start = pages_of(rows.batch(limit=BATCH))
    assert late <= 2 * early
    assert late_range <= 2 * early
    assert from_the_start > 10 * early  # what every batch would cost without a place to carry on


@pytest.mark.parametrize("old_snapshot", ["0 minutes"], indirect=True)
def test_a_late_batch_of_one_age_touches_no_more_pages_than_an_early_one(old_snapshot) -> None:
    rows = due_sessions()
    [[(_, _, age)]] = run_shortly(rows.using, rows.batch(limit=BATCH))
    [[(found,)]] = run_shortly(rows.using, rows.crowd(limit=ROWS, age=age))
    batches = [" ".join(batch) for batch in batched(found.split())]
    early = pages_of(rows.at_places(batches[0], limit=BATCH))

    for places in batches[:-1]:
        [[(deleted, _, _)]] = run_shortly(rows.using, rows.at_places(places, limit=BATCH))
        assert deleted == BATCH

    late = pages_of(rows.at_places(batches[-1], limit=BATCH))
    from_the_age = pages_of(rows.batch(limit=BATCH, last=age))
    assert len(batches) == ROWS // BATCH - 1
    assert late < 1.1 * early < from_the_age  # which walks over all that were deleted


def batched(places: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(places), BATCH):
        yield places[start : start + BATCH]
