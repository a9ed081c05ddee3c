"""The claim of a queue that is limited over all processes, on a big table."""

from __future__ import annotations

from dataclasses import replace

from jobs.claims import claim_rows
from tests.plans.statements import captured, plan_of
from tests.plans.test_claims import CLAIMED, FINISHED, insert, refuse_sequential_scans
from tests.testapp.jobs import crate_policy
from tests.testapp.models import Crate


def test_counting_what_is_in_work_reads_no_queue_from_end_to_end(transactional_db):
    policy = replace(crate_policy(), most_in_work=20)
    insert(Crate, FINISHED, status="'done'")
    insert(Crate, 200, status="'pending'")
    insert(Crate, 3, **CLAIMED, attempts="1", begun_at=CLAIMED["claimed_at"])

    with captured() as statements:
        suspect = claim_rows(policy, limit=5)
        claim = claim_rows(policy, limit=5)
        claim.heartbeat()
        claim.complete()

    assert suspect is not None
    assert len(statements) == 4
    for statement in statements:
        refuse_sequential_scans(plan_of(statement), policy.queue)
