"""pgbench with the engine's own claim and completion: the limit of this machine."""

from __future__ import annotations

import re
import subprocess
import tempfile
import uuid
from pathlib import Path

from django.db import connection

from jobs.claims.statement import AFTER, WORKER, ClaimForm, claim_statement
from jobs.claims.writes import TOKEN, fenced_update
from tests.bench.cluster import libpq_environment, programs
from tests.bench.noop.jobs import noop_policy

# Stand for pgbench's variables where the engine writes numbers.
AFTER_MARK, ID_MARK = 4_242_424_242_424_242, 2_424_242_424_242_424
DONE = {"status": "done"} | dict.fromkeys(noop_policy().model.CLAIM_COLUMNS)
RATE = re.compile(r"tps = ([\d.]+) \(without initial")


def drain_by_pgbench(*, rows: int, batch: int, clients: int) -> float:
    """Claim and complete the rows, a transaction each; return the rows per second."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "drain.sql"
        path.write_text(script(batch=batch), encoding="utf-8")
        result = subprocess.run(
            [
                str(programs() / "pgbench"),
                *("-n", "-M", "prepared", "-c", str(clients), "-j", str(clients)),
                *("-D", "after=0", "-t", str(rows // batch // clients), "-f", str(path)),
            ],
            env=libpq_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    found = RATE.search(result.stdout)
    if found is None or result.returncode:
        raise RuntimeError(f"pgbench failed: {result.stdout}{result.stderr}")
    return float(found[1]) * batch


def script(*, batch: int) -> str:
    """Return the claim that goes on after the last one, and the completion of its rows."""
    token = uuid.uuid4()
    statement = claim_statement(noop_policy(), ClaimForm(limit=batch, quick=True, onward=True))
    # A colon would begin a variable, so the worker's name has none.
    known = {TOKEN: token, WORKER: "pgbench", AFTER[0]: AFTER_MARK}
    text = statement.template.fill(known, connection).replace(str(AFTER_MARK), ":after")
    head, _, tail = text.rpartition("\nUPDATE ")
    completion = fenced_update(noop_policy(), [ID_MARK], token, DONE)
    return (
        f"{head},\nclaimed AS (UPDATE {tail})\n"
        "SELECT '{' || string_agg(claimed.id::text, ',') || '}' AS ids, max(claimed.id) AS after"
        " FROM claimed \\gset\n"
        + completion.replace(f"'{{{ID_MARK}}}'::bigint[]", ":ids::text::bigint[]")
        + ";\n"
    )
