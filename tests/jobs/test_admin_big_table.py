"""The console on a ledger and a log of 200,000 rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.factories import UserFactory, give

pytestmark = [pytest.mark.plans, pytest.mark.django_db]

ROWS = 200_000
MOST_QUERIES = 11
TABLES = "job_runs, activity_log, job_states, alerts, audit_log"
JOBS = "/admin/jobs/jobstate/"
ALERT_LIST = "/admin/jobs/alert/"
RUNS = "/admin/jobs/jobrun/"
ACTIVITY = "/admin/jobs/activitylog/"

# They ask for nothing.
TRANSACTION = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")

LEDGER = """
INSERT INTO job_runs (id, job_id, trigger, status, created_at, started_at, finished_at, error)
SELECT n + %(shift)s,
       'shop.job' || n %% 7,
       CASE WHEN n %% 997 = 0 THEN 'manual' ELSE 'schedule' END,
       CASE WHEN n %% 500 = 0 THEN 'failed' WHEN n %% 2003 = 0 THEN 'lost' ELSE 'succeeded' END,
       now() - (%(rows)s - n) * interval '10 s',
       now() - (%(rows)s - n) * interval '10 s',
       now() - (%(rows)s - n) * interval '10 s',
       CASE WHEN n %% 500 = 0 THEN 'ValueError: no' ELSE '' END
FROM generate_series(1, %(rows)s) AS n
"""
# A failing job among well ones, so that its alert, its strip and its like are there.
STATES = """
INSERT INTO job_states (job_id, last_tick_at, next_due_at)
SELECT 'shop.job' || n, NULL, now() + interval '1 hour' FROM generate_series(0, 6) AS n
UNION ALL SELECT 'emails.processor', now(), NULL
"""
ALERTS = """
INSERT INTO alerts (id, rule, subject, detail, evidence, notifications, resolved_at)
SELECT n, 'consecutive_failures', 'shop.job' || n % 7, 'failed', '{"run_ids": [500]}', '[]',
       CASE WHEN n > 7 THEN now() END
FROM generate_series(1, 3000) AS n
"""
AUDIT = """
INSERT INTO audit_log (id, actor, via, verb, target, detail)
SELECT n, 'anna', 'admin', 'run', 'job_states shop.job' || n % 7, '{}'
FROM generate_series(1, 3000) AS n
"""
LOG = """
INSERT INTO activity_log (id, at, source, level, message, context, job_id, run_id)
SELECT n + %(shift)s,
       now() - (%(rows)s - n) * interval '10 s',
       CASE WHEN n %% 3 = 0 THEN 'email' ELSE 'job' END,
       CASE WHEN n %% 400 = 0 THEN 'error' ELSE 'info' END,
       'line', '{}', 'shop.job' || n %% 7, n
FROM generate_series(1, %(rows)s) AS n
"""


@pytest.fixture(scope="module", autouse=True)
def _big_tables(django_db_setup, django_db_blocker) -> Iterator[None]:
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLES}")
        cursor.execute(LEDGER, {"rows": ROWS, "shift": 0})
        cursor.execute(LOG, {"rows": ROWS, "shift": 0})
        for statement in (STATES, ALERTS, AUDIT):
            cursor.execute(statement)
        cursor.execute(f"ANALYZE {TABLES}")
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLES}")
        cursor.execute(f"ANALYZE {TABLES}")


@pytest.fixture
def observer(db) -> Client:
    """The browser of an ordinary staff member: permissions cost queries too."""
    user = UserFactory()
    give(
        user, "jobs.view_jobrun", "jobs.view_activitylog", "jobs.view_run_output",
        "jobs.view_jobstate", "jobs.view_alert", "jobs.view_auditlog", "jobs.view_worker",
        "jobs.run_job", "jobs.pause_job", "jobs.cancel_job", "jobs.acknowledge_alert",
    )  # fmt: skip
    client = Client()
    client.force_login(user)
    return client


PAGES = [
    RUNS,
    f"{RUNS}?before=60000",
    f"{RUNS}?after=60000",
    f"{RUNS}?status=failed",
    f"{RUNS}?status=unwell",
    f"{RUNS}?status=lost",
    f"{RUNS}?status=succeeded",
    f"{RUNS}?status=requested",
    f"{RUNS}?status=running",
    f"{RUNS}?trigger=manual",
    f"{RUNS}?since=15m",
    f"{RUNS}?since=24h",
    f"{RUNS}?since=24h&status=failed",
    f"{RUNS}?job=shop.job3",
    f"{RUNS}?job=shop.job3&status=succeeded",
    f"{RUNS}?q=job:nobody",
    f"{RUNS}?q=77777",
    f"{RUNS}?same_error=60000",
    f"{RUNS}60001/change/",
    f"{RUNS}60000/change/",
    f"{RUNS}verb/cancel/?ids=60000",
    JOBS,
    f"{JOBS}?health=look",
    f"{JOBS}shop.job3/change/",
    f"{JOBS}emails.processor/change/",
    f"{JOBS}emails.processor/verb/run/",
    ACTIVITY,
    f"{ACTIVITY}?since=all",
    f"{ACTIVITY}?since=all&level=trouble",
    f"{ACTIVITY}?since=all&level=error",
    f"{ACTIVITY}?since=all&source=email",
    f"{ACTIVITY}?since=all&run=4711",
    f"{ACTIVITY}?q=job:shop.job3",
    f"{ACTIVITY}60001/change/",
]


SMALL_PAGES = [
    ALERT_LIST,
    f"{ALERT_LIST}?state=open",
    f"{ALERT_LIST}?state=acknowledged",
    f"{ALERT_LIST}3/change/",
    f"{ALERT_LIST}verb/acknowledge/?ids=3",
    "/admin/jobs/worker/",
    "/admin/jobs/auditlog/",
    "/admin/jobs/auditlog/?q=target:job_states%20shop.job3",
    "/admin/jobs/auditlog/2000/change/",
]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_reads_a_whole_table_or_asks_twelve_queries(observer, path):
    read = [sql for sql in asked_for(observer, path) if _reads_big_table(sql)]

    assert read
    for sql in read:
        assert "count(*) from job_runs" not in sql.lower()
        plan = _plan(sql)
        assert '"Seq Scan"' not in plan, f"{sql}\n{plan}"


@pytest.mark.parametrize("path", [*PAGES, *SMALL_PAGES])
def test_with_those_that_open_and_end_transactions_they_are_not_twelve_either(db, path):
    client = Client()
    client.force_login(UserFactory(is_superuser=True))

    with CaptureQueriesContext(connection) as queries:
        client.get(path)

    assert len(queries) <= MOST_QUERIES, "\n".join(query["sql"][:120] for query in queries)


@pytest.mark.parametrize("path", SMALL_PAGES)
def test_no_other_page_asks_twelve_queries(observer, path):
    assert asked_for(observer, path)


def asked_for(client: Client, path: str) -> list[str]:
    """Return what a page asked the database; fail when it was too much."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(path)

    assert response.status_code == 200
    asked = [query["sql"] for query in queries if not query["sql"].startswith(TRANSACTION)]
    assert len(asked) <= MOST_QUERIES, "\n".join(sql[:120] for sql in asked)
    return asked


def test_the_whole_ledger_is_estimated_and_a_large_part_of_it_capped(observer):
    whole = observer.get(RUNS).content.decode()
    part = observer.get(f"{RUNS}?status=succeeded").content.decode()
    rare = observer.get(f"{RUNS}?status=failed").content.decode()

    assert "≈ 200,000 runs" in whole
    assert "10,000+ runs" in part
    assert "400 runs" in rare


@pytest.mark.parametrize("path", [JOBS, f"{JOBS}emails.processor/change/"])
def test_a_job_without_runs_does_not_read_those_of_all_others(observer, path):
    history = [sql for sql in asked_for(observer, path) if "FROM job_runs" in sql]

    assert len(history) == 2
    for sql in history:
        plan = _plan(sql)
        assert "job_runs_by_job" in plan
        assert "job_runs_pkey" not in plan, f"{sql}\n{plan}"


def test_bodies_are_not_read_for_a_list(observer):
    with CaptureQueriesContext(connection) as queries:
        observer.get(RUNS)

    [listing] = [query["sql"] for query in queries if 'ORDER BY "job_runs"' in query["sql"]]
    columns = listing.partition(" FROM ")[0]
    for body in ("stdout", "output", "returned"):
        assert f'"job_runs"."{body}"' not in columns
    assert columns.count('"job_runs"."error"') == columns.count('LEFT("job_runs"."error"') == 1


def _reads_big_table(sql: str) -> bool:
    return re.search(r"SELECT.*\b(job_runs|activity_log)\b", sql, re.DOTALL) is not None


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON) " + sql.replace("%", "%%"), [])
        return json.dumps(cursor.fetchone()[0])
