"""The pages of mail on a queue of more than 100,000 rows."""

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
MAILS = "/admin/emails/emailjob/"

QUEUE = """
INSERT INTO email_jobs (id, status, attempts, recipients, mail_from, message_id, size, user_id,
                        possible_duplicate, sent_at, next_retry_at)
SELECT n, state, 0,
       '[{"address": "ada@example.com", "domain": "example.com", "state": "accepted"}]',
       'shop@example.org', '<' || n || '@example.org>', 800, n %% 50000, n %% 5000 = 0,
       CASE WHEN state = 'sent' THEN now() END,
       CASE WHEN n %% 1999 = 0 THEN now() END
FROM generate_series(1, %(rows)s) AS n,
     LATERAL (SELECT CASE WHEN n %% 1999 = 0 THEN 'failed'
                          WHEN n %% 1000 = 0 THEN 'failed'
                          WHEN n %% 997 = 0 THEN 'cancelled'
                          WHEN n > %(rows)s - 40 THEN 'pending'
                          ELSE 'sent' END AS state) AS states
"""


@pytest.fixture(scope="module", autouse=True)
def _big_table(django_db_setup, django_db_blocker) -> Iterator[None]:
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE email_jobs CASCADE")
        cursor.execute(QUEUE, {"rows": ROWS})
        cursor.execute("ANALYZE email_jobs")
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE email_jobs CASCADE")
        cursor.execute("ANALYZE email_jobs")


@pytest.fixture
def operator(db) -> Client:
    user = UserFactory()
    give(user, "emails.view_emailjob", "emails.retry_emailjob", "jobs.view_auditlog")
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    "path",
    [
        MAILS,
        f"{MAILS}?before=60000",
        *(
            f"{MAILS}?status={state}"
            for state in ("pending", "processing", "retrying", "dead", "sent", "cancelled")
        ),
        f"{MAILS}?duplicate=yes",
        f"{MAILS}?q=77777",
        f"{MAILS}?q=user:4711",
        f"{MAILS}?q=message-id:<4711@example.org>",
        f"{MAILS}60001/change/",
        f"{MAILS}verb/retry/?scope=dead",
    ],
)
def test_no_page_reads_the_whole_queue_or_asks_more_than_14_queries(operator, path):
    with CaptureQueriesContext(connection) as queries:
        response = operator.get(path)

    assert response.status_code == 200
    assert len(queries) <= 14, [query["sql"][:120] for query in queries]
    read = [query["sql"] for query in queries if _reads_queue(query["sql"])]
    assert read
    for sql in read:
        plan = _plan(sql)
        assert '"Seq Scan"' not in plan, f"{sql}\n{plan}"


@pytest.mark.parametrize(
    ("state", "indexes"),
    [
        ("pending", ("email_jobs_pending", "email_jobs_due")),
        ("processing", ("email_jobs_claimed",)),
        ("dead", ("email_jobs_dead",)),
        ("cancelled", ("email_jobs_cancelled",)),
    ],
)
def test_rare_states_are_found_by_their_own_index(operator, state, indexes):
    with CaptureQueriesContext(connection) as queries:
        operator.get(f"{MAILS}?status={state}")

    listing = next(query["sql"] for query in queries if _reads_queue(query["sql"]))
    plan = _plan(listing)
    assert all(index in plan for index in indexes), plan


def _reads_queue(sql: str) -> bool:
    return sql.startswith("SELECT") and '"email_jobs"' in sql and "to_regclass" not in sql


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON) " + sql.replace("%", "%%"), [])
        return json.dumps(cursor.fetchone()[0])
