"""
How long the console's pages take on a big ledger, beside an empty one.

    DATABASE_URL=postgres://… python -m tests.browser.big_ledger [ROWS]

Makes a database of its own on that server, or on the embedded one, and drops it again.
Prints a line per page: the best of 25 requests, empty and full, how much slower it is,
and its queries, without what opens and ends transactions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import django

ROWS = 2_000_000
REQUESTS = 25
TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE SAVEPOINT", "SET LOCAL")


def main(rows: int) -> int:
    """Measure, print, and say by the exit code whether no page is five times slower."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from django.test.utils import (
        setup_databases,
        setup_test_environment,
        teardown_databases,
    )

    setup_test_environment()
    before = setup_databases(verbosity=0, interactive=False)
    try:
        return _measure(rows)
    finally:
        teardown_databases(before, verbosity=0)


def _measure(rows: int) -> int:
    from tests.jobs import test_admin_big_table as big

    paths = [path.replace("60000", "60500") for path in (*big.PAGES, *big.SMALL_PAGES)]
    look = _looker()
    for statement in (big.STATES, big.ALERTS, big.AUDIT):
        _run(statement)
    # The pages of single rows need theirs on the empty ledger too.
    _run(big.LEDGER, rows=3, shift=60_499)
    _run(big.LOG, rows=3, shift=59_999)
    empty = {path: look(path) for path in paths}
    _run("TRUNCATE job_runs, activity_log")
    began = time.monotonic()
    _run(big.LEDGER, rows=rows, shift=0)
    _run(big.LOG, rows=rows, shift=0)
    _run("VACUUM ANALYZE")
    print(f"{rows:,} runs and log lines written in {time.monotonic() - began:.0f} s\n")
    full = {path: look(path) for path in paths}
    return _report(empty, full)


def _report(empty: dict[str, tuple[float, int]], full: dict[str, tuple[float, int]]) -> int:
    print(f"{'PAGE':<52}{'EMPTY MS':>10}{'FULL MS':>10}{'TIMES':>8}{'QUERIES':>9}")
    worst = 0.0
    for path, (milliseconds, queries) in full.items():
        times = milliseconds / empty[path][0]
        worst = max(worst, times)
        shown = path.removeprefix("/admin/")
        print(f"{shown:<52}{empty[path][0]:>10.1f}{milliseconds:>10.1f}{times:>8.2f}{queries:>9}")
    print(f"\nThe worst is {worst:.2f} times its time on an empty ledger.")
    return 0 if worst < 5 else 1


def _looker() -> Callable[[str], tuple[float, int]]:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from tests.factories import UserFactory

    client = Client()
    client.force_login(UserFactory(is_superuser=True))

    def look(path: str) -> tuple[float, int]:
        with CaptureQueriesContext(connection) as queries:
            _checked(client, path)
            number = sum(not query["sql"].startswith(TRANSACTION) for query in queries)
        took = []
        for _ in range(REQUESTS):
            began = time.perf_counter()
            _checked(client, path)
            took.append((time.perf_counter() - began) * 1000)
        return min(took), number

    return look


def _checked(client: object, path: str) -> None:
    response = client.get(path)  # type: ignore[attr-defined]
    if response.status_code not in (200, 302):
        raise SystemExit(f"{path} answered {response.status_code}")


def _run(statement: str, **parameters: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
