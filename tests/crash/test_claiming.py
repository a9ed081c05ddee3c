"""Several processes that claim from one queue at once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from django.db import connection

from tests.crash.harness import ROOT
from tests.testapp.models import Parcel

ROWS = 20_000
PROCESSES = 3


def leave_stale(ids, *, begun):
    """Leave rows as a worker leaves them that died an hour ago, on their second attempt."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE testapp_parcels SET status = 'processing', claimed_by = 'dead:1:aa',"
            " attempts = 2, claim_token = gen_random_uuid(),"
            " claimed_at = clock_timestamp() - interval '1 hour',"
            " begun_at = CASE WHEN %s THEN clock_timestamp() - interval '1 hour' END"
            " WHERE id = ANY(%s)",
            [begun, ids],
        )


@pytest.mark.timeout(150)
def test_three_processes_share_a_queue_without_a_double_claim_and_in_order(
    make_fleet, tmp_path, figures
):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO testapp_parcels (address, instruction, delivered_by)"
            f" SELECT 'a', 'deliver', '' FROM generate_series(1, {ROWS}) RETURNING id"
        )
        ids = [row_id for (row_id,) in cursor.fetchall()]
    unbegun, suspects = ids[100:400], ids[5_000:5_010]
    leave_stale(unbegun, begun=False)
    leave_stale(suspects, begun=True)
    logs = [tmp_path / f"claims-{number}.jsonl" for number in range(PROCESSES)]

    fleet = make_fleet()
    claimers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.crash.claimer", str(log), str(number)],
            cwd=ROOT,
            env=fleet.environment,
        )
        for number, log in enumerate(logs)
    ]
    assert [claimer.wait(120) for claimer in claimers] == [0] * PROCESSES

    by_process = [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]
    claims = [claim for process in by_process for claim in process]
    figures(claims=len(claims), rows=[sum(len(c["ids"]) for c in p) for p in by_process])
    taken = [row_id for claim in claims for row_id in claim["ids"]]
    assert len(taken) == len(set(taken))
    assert set(taken) == set(ids)
    assert all(0 < len(claim["ids"]) <= claim["limit"] for claim in claims)
    for claim in claims:
        # Handed on by age, which is the order of ids here; a suspect comes alone.
        assert claim["ids"] == sorted(claim["ids"])
        if not set(suspects).isdisjoint(claim["ids"]):
            assert len(claim["ids"]) == 1
    for process in by_process:
        # What one process takes of the pending rows never goes back behind what it had.
        fresh = [row_id for claim in process for row_id in claim["fresh"]]
        assert fresh == sorted(fresh)
    states = set(Parcel.objects.values_list("status", "attempts", "stale_recoveries"))
    assert states == {("done", 1, 0), ("done", 2, 0), ("done", 3, 1)}
    assert Parcel.objects.filter(attempts=2).count() == len(unbegun)
    assert Parcel.objects.filter(attempts=3).count() == len(suspects)
