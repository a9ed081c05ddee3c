"""What every test may use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import django
import pytest
from django.db import connection
from hypothesis import settings as hypothesis_settings
from psycopg import sql

from jobs import direct, notifier
from jobs.claims.holdings import holdings
from jobs.ledger import open_runs
from tests import emptying
from tests.chromium import browser  # noqa: F401 (a fixture)
from tests.forms import FULL, form

pytest_plugins = ["tests.stores.fixtures"]

# The same examples in every run of `make test`: a failure is somebody's change, not luck.
# ENGINEROOM_FULL=1 looks for new ones.
hypothesis_settings.register_profile(
    "default", deadline=None, max_examples=form(short=60, full=500), derandomize=not FULL
)
hypothesis_settings.load_profile("default")

BIG_TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 1000
"""


def wait_until(condition: Callable[[], Any], *, seconds: float = 20, what: str = "") -> Any:
    """Poll until the condition holds and return it; fail when it does not within the limit."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            pytest.fail(f"did not happen within {seconds} s: {what or condition}")
        time.sleep(0.02)
    return found


@pytest.fixture(autouse=True)
def _forget_what_is_held() -> Iterator[None]:
    """Leave no claim and no open run of a test to the next one."""
    yield
    for claim in holdings:
        claim.forget(*claim.rows)
    open_runs.runs.clear()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """End what threads of the engine still keep open, so that the database can be dropped."""
    with pytest.MonkeyPatch.context() as patch:
        emptying.install(patch)
        yield
    notifier.close()
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """
    Forget the sizes of big tables: an ANALYZE is not rolled back with its rows.

    A list that shows the planner's figure would count rows that another test once had.
    """
    yield
    if item.get_closest_marker("plans"):
        with direct.connect(application_name="tests") as connection:
            big = connection.execute(BIG_TABLES).fetchall()
            for (name,) in big:
                connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(name)))


@pytest.fixture
def queue_backend(settings: Any) -> None:
    """Queue mail as the site does; the test runner of Django swaps the backend."""
    if django.VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": "emails.backend.QueueBackend"}}
    else:
        settings.EMAIL_BACKEND = "emails.backend.QueueBackend"
