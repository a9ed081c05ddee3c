"""Alerts and the inventory on a big ledger: every read goes by an index."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.alerts.checking import check
from jobs.alerts.evaluate import evaluate
from jobs.models import JobState
from jobs.reads.inventory import get_job, list_jobs
from tests.jobs.alerting import worker

pytestmark = [pytest.mark.django_db, pytest.mark.plans]
RUNS, MAILS = 120_000, 100_000
BIG = {"job_runs", "email_jobs"}


@pytest.fixture
def big_ledger(db) -> None:
    """A ledger of 120,000 runs and a queue of 100,000 sent mails, with statistics."""
    worker()
    JobState.objects.create(job_id="emails.processor")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO job_runs
              (job_id, trigger, status, scheduled_for, created_at, started_at, finished_at, output)
            SELECT
              CASE n %% 4 WHEN 0 THEN 'emails.processor' WHEN 1 THEN 'jobs.alerts'
                          WHEN 2 THEN 'shop.a' ELSE 'shop.b' END,
              'schedule', 'succeeded',
              CASE WHEN n %% 4 <> 0 THEN now() - n * interval '1 second' END,
              now() - n * interval '1 second', now() - n * interval '1 second',
              now() - n * interval '1 second', '{"done": 1}'
            FROM generate_series(1, %s) AS n
            """,
            [RUNS],
        )
        cursor.execute(
            """
            INSERT INTO email_jobs
              (status, sent_at, recipients, mail_from, message_id, size, created_at)
            SELECT
              CASE WHEN n %% 2000 = 0 THEN 'failed' ELSE 'sent' END,
              CASE WHEN n %% 2000 = 0 THEN NULL ELSE now() END,
              '[]', '', 'm' || n, 1, now()
            FROM generate_series(1, %s) AS n
            """,
            [MAILS],
        )
        cursor.execute("ANALYZE job_runs; ANALYZE email_jobs")


def scans(plan: object) -> list[str]:
    """Return the big tables that a plan reads from end to end."""
    found = []
    if isinstance(plan, list):
        for part in plan:
            found += scans(part)
    elif isinstance(plan, dict):
        if plan.get("Node Type") == "Seq Scan" and plan.get("Relation Name") in BIG:
            found.append(plan["Relation Name"])
        for value in plan.values():
            found += scans(value)
    return found


def big_scans(read) -> dict[str, list[str]]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        read()
    found = {}
    statements = [query["sql"] for query in captured.captured_queries]
    reads = [sql for sql in statements if "SELECT" in sql and any(name in sql for name in BIG)]
    assert reads, "the read asked the big tables nothing"
    with connection.cursor() as cursor:
        for statement in reads:
            cursor.execute("EXPLAIN (FORMAT JSON) " + statement)
            (plan,) = cursor.fetchone()
            tables = scans(json.loads(plan) if isinstance(plan, str) else plan)
            if tables:
                found[statement] = tables
    return found


def test_no_read_of_alerts_or_the_inventory_scans_a_big_table(big_ledger) -> None:
    def scan() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM job_runs WHERE error <> ''")

    for read in (evaluate, check, list_jobs, lambda: get_job("emails.processor")):
        assert big_scans(read) == {}
    assert list(big_scans(scan).values()) == [["job_runs"]]  # it would be seen


def test_the_newest_runs_are_found_whatever_lies_beneath_them(big_ledger) -> None:
    job = get_job("emails.processor")

    assert job is not None
    assert not job.history_slow
    assert job.last_runs is not None
    assert len(job.last_runs) == 20
