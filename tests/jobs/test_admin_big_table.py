"""The console on a ledger and a log of more than 100,000 rows."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.factories import UserFactory, give

pytestmark = [pytest.mark.plans, pytest.mark.django_db]

ROWS = 120_000
MOST_QUERIES = 12
RUNS = "/admin/jobs/jobrun/"
ACTIVITY = "/admin/jobs/activitylog/"

LEDGER = """
INSERT INTO job_runs (id, job_id, trigger, status, created_at, started_at, finished_at, error)
SELECT n,
       'shop.job' || n %% 7,
       CASE WHEN n %% 997 = 0 THEN 'manual' ELSE 'schedule' END,
       CASE WHEN n %% 500 = 0 THEN 'failed' WHEN n %% 2003 = 0 THEN 'lost' ELSE 'succeeded' END,
       now() - (%(rows)s - n) * interval '10 s',
       now() - (%(rows)s - n) * interval '10 s',
       now() - (%(rows)s - n) * interval '10 s',
       CASE WHEN n %% 500 = 0 THEN 'ValueError: no' ELSE '' END
FROM generate_series(1, %(rows)s) AS n
"""
LOG = """
INSERT INTO activity_log (id, at, source, level, message, context, job_id, run_id)
SELECT n,
       now() - (%(rows)s - n) * interval '10 s',
       CASE WHEN n %% 3 = 0 THEN 'email' ELSE 'job' END,
       CASE WHEN n %% 400 = 0 THEN 'error' ELSE 'info' END,
       'line', '{}', 'shop.job' || n %% 7, n
FROM generate_series(1, %(rows)s) AS n
"""


@pytest.fixture(scope="module", autouse=True)
def _big_tables(django_db_setup, django_db_blocker) -> Iterator[None]:
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE job_runs, activity_log")
        cursor.execute(LEDGER, {"rows": ROWS})
        cursor.execute(LOG, {"rows": ROWS})
        cursor.execute("ANALYZE job_runs, activity_log")
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE job_runs, activity_log")
        cursor.execute("ANALYZE job_runs, activity_log")


@pytest.fixture
def observer(db) -> Client:
    """The browser of an ordinary staff member: permissions cost queries too."""
    user = UserFactory()
    give(user, "jobs.view_jobrun", "jobs.view_activitylog", "jobs.view_run_output")
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
    f"{RUNS}60001/change/",
    ACTIVITY,
    f"{ACTIVITY}?since=all",
    f"{ACTIVITY}?since=all&level=trouble",
    f"{ACTIVITY}?since=all&level=error",
    f"{ACTIVITY}?since=all&source=email",
    f"{ACTIVITY}?since=all&run=4711",
    f"{ACTIVITY}?q=job:shop.job3",
    f"{ACTIVITY}60001/change/",
]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_reads_a_whole_table_or_asks_more_than_12_queries(observer, path):
    with CaptureQueriesContext(connection) as queries:
        response = observer.get(path)
        response.render()

    assert response.status_code == 200
    assert len(queries) <= MOST_QUERIES, [query["sql"][:120] for query in queries]
    read = [query["sql"] for query in queries if _reads_big_table(query["sql"])]
    assert read
    for sql in read:
        plan = _plan(sql)
        assert '"Seq Scan"' not in plan, f"{sql}\n{plan}"


def test_the_whole_ledger_is_estimated_and_a_large_part_of_it_capped(observer):
    whole = observer.get(RUNS).content.decode()
    part = observer.get(f"{RUNS}?status=succeeded").content.decode()
    rare = observer.get(f"{RUNS}?status=failed").content.decode()

    assert "≈ 120,000 runs" in whole
    assert "10,000+ runs" in part
    assert "240 runs" in rare


def test_bodies_are_not_read_for_a_list(observer):
    with CaptureQueriesContext(connection) as queries:
        observer.get(RUNS)

    [listing] = [query["sql"] for query in queries if 'ORDER BY "job_runs"' in query["sql"]]
    columns = listing.partition(" FROM ")[0]
    for body in ("stdout", "output", "returned"):
        assert f'"job_runs"."{body}"' not in columns
    assert columns.count('"job_runs"."error"') == columns.count('LEFT("job_runs"."error"') == 1


def _reads_big_table(sql: str) -> bool:
    return sql.startswith("SELECT") and ('"job_runs"' in sql or '"activity_log"' in sql)


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON) " + sql.replace("%", "%%"), [])
        return json.dumps(cursor.fetchone()[0])
