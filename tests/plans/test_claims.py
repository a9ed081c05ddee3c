"""How PostgreSQL runs claims and fenced writes on queues that have done a lot."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from django.db import connection

from emails.models import EmailJob
from emails.policy import email_policy
from jobs.claims import claim_rows
from jobs.claims.burial import bury_exhausted
from jobs.clock import ClockTime
from jobs.queues import LeasedQueueRow
from realtime.models import OutboxEvent
from realtime.policy import outbox_policy
from tests.plans.statements import captured, plan_of
from tests.testapp.jobs import crate_policy, letter_policy, parcel_policy
from tests.testapp.models import Crate, Letter, Parcel

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.plans]
SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots"
FINISHED = 100_000
COLUMNS = {
    Parcel: {"address": "'a'", "instruction": "'deliver'", "delivered_by": "''"},
    Crate: {"instruction": "'deliver'"},
    Letter: {"instruction": "'deliver'", "weight": "g % 3"},
    EmailJob: {
        "recipients": "'[]'::jsonb",
        "mail_from": "'a@example.com'",
        "message_id": "g::text",
        "size": "1",
        "max_attempts": "5",
    },
    OutboxEvent: {
        "topic": "'news'",
        "event": "'told'",
        "payload": "'{}'::jsonb",
        "audience": """'{"mode": "all"}'::jsonb""",
        "ordering_key": "gen_random_uuid()::text",
    },
}
POLICIES = {
    "parcels": parcel_policy,
    "crates": crate_policy,
    "letters": letter_policy,
    "emails": email_policy,
    "outbox": outbox_policy,
}
DONE_AT = {EmailJob: "sent_at", OutboxEvent: "finished_at"}
HOUR_AGO = "clock_timestamp() - interval '1 hour'"
CLAIMED = {
    "status": "'processing'",
    "claimed_at": HOUR_AGO,
    "claimed_by": "'dead:1:aa'",
    "claim_token": "gen_random_uuid()",
}


def insert(model, count, **expressions):
    """Insert rows whose columns are SQL expressions of their number ``g``."""
    columns = COLUMNS[model] | expressions
    if issubclass(model, LeasedQueueRow) and columns["status"] == "'processing'":
        columns["lease_expires_at"] = HOUR_AGO
    if model is EmailJob and columns["status"] == "'sent'":
        columns["sent_at"] = HOUR_AGO
    if model is OutboxEvent and columns["status"] == "'completed'":
        columns["finished_at"] = HOUR_AGO
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} ({', '.join(columns)})"
            f" SELECT {', '.join(columns.values())}"
            f" FROM generate_series(1, {count}) AS g"
        )


@pytest.fixture(params=POLICIES)
def policy(request, transactional_db):
    """Give a queue that has finished a hundred thousand rows and has some of each kind."""
    policy = POLICIES[request.param]()
    model = policy.model
    insert(model, FINISHED, status=f"'{policy.done_status}'")
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {model._meta.db_table}")
    insert(model, 200, status="'pending'")
    insert(model, 20, status="'failed'", attempts="1", next_retry_at=HOUR_AGO)
    insert(model, 20, status="'failed'", attempts="1", next_retry_at="now() + interval '1 hour'")
    insert(model, 10, **CLAIMED, attempts="1")
    insert(model, 3, **CLAIMED, attempts="1", begun_at=HOUR_AGO)
    return policy


def indexes_of(nodes):
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def refuse_sequential_scans(nodes, table):
    scans = [node for node in nodes if node["Node Type"] == "Seq Scan"]
    assert [node for node in scans if node.get("Relation Name") == table] == []


def test_no_claim_and_no_write_reads_a_queue_from_end_to_end(policy):
    table = policy.queue
    with captured() as claims:
        suspect = claim_rows(policy, limit=5)  # with the arm of suspects
        claim = claim_rows(policy, limit=5)  # without, while one is held
        more = claim_rows(policy, limit=5)
        bury_exhausted(policy)
    with captured() as writes:
        claim.begin(claim.rows[0])
        claim.heartbeat()
        claim.retry(claim.rows[0], "no")
        claim.wait(claim.rows[1], delay_ms=1000)
        claim.bury(claim.rows[2], "no")
        more.release()
        done = {DONE_AT[policy.model]: ClockTime()} if policy.model in DONE_AT else {}
        claim.complete(**done)
        suspect.complete(**done)

    assert len([text for text in claims if text.startswith("WITH")]) == 3
    assert len(writes) == 8
    for statement in (*claims, *writes):
        refuse_sequential_scans(plan_of(statement), table)
    for statement in writes:
        # An index of the claim here would tie the cost of a write to the length of the queue.
        assert indexes_of(plan_of(statement)) == {f"{table}_pkey"}


def test_a_look_into_an_empty_queue_reads_no_more_than_its_indexes(policy):
    policy.model.objects.exclude(status=policy.done_status).delete()

    with captured() as claims:
        assert claim_rows(policy) is None

    for statement in claims:
        refuse_sequential_scans(plan_of(statement), policy.queue)
    # The last is the look at everything, without which no queue is called empty.
    found = indexes_of(plan_of(claims[-1]))
    assert found >= {f"{policy.queue}_pending", f"{policy.queue}_due"}


@pytest.mark.parametrize("queue", POLICIES)
def test_the_text_of_each_claim_is_the_one_that_was_reviewed(queue):
    with captured() as claims:
        claim_rows(POLICIES[queue](), limit=5)

    text = normalised(claims[-1])

    path = SNAPSHOTS / f"claim_{queue}.sql"
    if os.environ.get("ENGINEROOM_UPDATE_SNAPSHOTS") == "1":
        path.write_text(text)
    assert text == path.read_text(), "set ENGINEROOM_UPDATE_SNAPSHOTS=1 to accept the new text"


def normalised(statement):
    """Return a claim without what differs from one to the next, a clause a line."""
    text = re.sub(r"'[0-9a-f-]{32,36}'(::\"?uuid\"?)?", ":token", statement)
    text = re.sub(r"'[^' ]+:\d+:[0-9a-f]{6}'(::\"?text\"?)?", ":worker", text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    clauses = "\n".join(
        re.sub(r" (FROM|WHERE|ORDER BY|LIMIT|FOR UPDATE|RETURNING|SET) ", r"\n  \1 ", line)
        for line in lines
    )
    return clauses.replace(', "', ',\n    "') + "\n"
