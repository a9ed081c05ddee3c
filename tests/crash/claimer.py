"""
Claims parcels and completes them until none is due, by hand and without pausing.

``python -m tests.crash.claimer LOG SEED`` writes a line of JSON for each claim.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import django


def main() -> None:
    """Claim until the queue is empty."""
    django.setup()
    from jobs.claims import claim_rows
    from tests.testapp.jobs import parcel_policy

    log, chance = Path(sys.argv[1]).open("w"), random.Random(int(sys.argv[2]))  # noqa: SIM115
    policy = parcel_policy()
    while True:
        limit = chance.randint(1, policy.batch)
        claim = claim_rows(policy, limit=limit)
        if claim is None:
            return
        record = {
            "limit": limit,
            "ids": [row.pk for row in claim.rows],
            "fresh": [row.pk for row in claim.rows if row.attempts == 1],
        }
        log.write(json.dumps(record) + "\n")
        log.flush()
        for row in claim.rows[:1]:
            claim.begin(row)
        record["done"] = claim.complete()
        assert record["done"] == len(claim.rows)


if __name__ == "__main__":
    main()
