"""The workers of the benchmark."""

from __future__ import annotations

import time
from functools import cache

from jobs.cadence import Every
from jobs.claims import Claim, ClaimPolicy, Counts, StaleAfter
from jobs.context import RunContext
from jobs.declarations import job
from jobs.workers.queue_pass import work_whole_claims
from tests.bench.noop.models import Noop

# What a pick-up writes into its row's payload, followed by when (time.time).
PICKED_UP = "picked up "


@cache
def noop_policy() -> ClaimPolicy:
    return ClaimPolicy(
        model=Noop,
        counts=Counts.ON_CLAIM,
        expiry=StaleAfter(ms=300_000),
        batch=100,
        whole_claims=True,
        columns=("payload",),
    )


@job(
    "bench.noop",
    cadence=Every(ms=5_000),
    summary="Do nothing, a hundred times at a time.",
    policy=noop_policy,
    singleton=False,
)
def run_once(context: RunContext) -> None:
    work_whole_claims(context, noop_policy(), do_nothing)


def do_nothing(claim: Claim) -> None:
    """Look at each row; one that wants to know is told when it was begun."""
    now = time.time()
    for row in claim.rows:
        if row.payload == "when?":
            claim.complete(row, payload=f"{PICKED_UP}{now:.6f}")
