"""The hourly clean-up: sessions and other rows whose time is over."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from django.contrib.sessions.backends.file import SessionStore
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.utils import timezone
from psycopg import errors as postgres

from deletions.models import BillingAudit
from jobs import direct
from jobs.context import RunContext
from jobs.models import ActivityLog
from jobs.pruning import declare_expired, expired
from jobs.signin.models import SigninAttempt, SigninLink
from jobs.transactions import run_shortly
from tests.conftest import wait_until
from tests.factories import UserFactory
from tests.forms import FULL, form
from tests.plans.statements import captured
from tests.retention.conftest import context_of, days_ago, summary_of

pytestmark = pytest.mark.django_db
JOB = "retention.sessions"
EXPIRED, LIVE = form(short=(15_000, 1_250), full=(600_000, 50_000))
BATCH = EXPIRED // 300  # 2,000 in the long form
CAP = 50
RENEWED = 100
WAITERS = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
NOTHING = {"deleted": 0, "batches": 0, "truncated": False}


def fill(*, ties: bool) -> None:
    """Insert the sessions with statistics: spread over a month, or all expired at one instant."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO django_session (session_key, session_data, expire_date)
            SELECT md5(n::text), repeat('x', 100),
                   CASE WHEN n > %(expired)s THEN now() + interval '1 day'
                        WHEN %(ties)s THEN now() - interval '1 hour'
                        ELSE now() - interval '1 hour' - n * interval '4 seconds' END
            FROM generate_series(1, %(expired)s + %(live)s) AS n
            ORDER BY md5(n::text)
            """,
            {"expired": EXPIRED, "live": LIVE, "ties": ties},
        )
        cursor.execute("ANALYZE django_session")


@contextmanager
def old_snapshot() -> Iterator[None]:
    """Hold a transaction open that still sees everything."""
    with direct.connect(application_name="report") as report:
        report.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        report.execute("SELECT count(*) FROM django_session")
        yield
        report.execute("ROLLBACK")


@contextmanager
def renewing(keys: list[str]) -> Iterator[list[str]]:
    """Renew expired sessions one after the other; yields those that were there to renew."""
    renewed: list[str] = []
    ended = threading.Event()

    def renew() -> None:
        with direct.connect(application_name="writer") as writer:
            for key in keys:
                if ended.is_set():
                    break
                done = writer.execute(
                    "UPDATE django_session SET expire_date = now() + interval '1 day'"
                    " WHERE session_key = %s RETURNING session_key",
                    [key],
                )
                renewed.extend(found for (found,) in done.fetchall())

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield renewed
    finally:
        ended.set()
        thread.join(30)


def batch_costs(context: RunContext) -> list[float]:
    """Note when each batch ends, as the run itself does at each checkpoint."""
    instants: list[float] = []
    context.on_checkpoint = lambda: instants.append(time.perf_counter())
    return instants


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ties", [False, True])
def test_a_mass_of_sessions_goes_by_and_by_under_an_old_snapshot(settings, ties):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = BATCH, CAP
    fill(ties=ties)
    keys = list(Session.objects.order_by("expire_date", "pk").values_list("pk", flat=True))
    first_run, later_runs = keys[: BATCH * CAP], keys[BATCH * CAP : EXPIRED]
    # Those of the first run are there to meet the sweep at its place, those after it to survive.
    chosen = [*random.Random(7).sample(first_run, 200), *later_runs[-RENEWED:]]
    random.Random(7).shuffle(chosen)
    context = context_of(JOB)
    instants = batch_costs(context)

    with old_snapshot(), renewing(chosen) as renewed:
        first = context.declaration.run_once(context)["sessions"]
        costs = [after - before for before, after in itertools.pairwise(instants[1 : CAP + 1])]
        later = []
        while not later or later[-1]["truncated"]:
            later.append(summary_of(JOB)["sessions"])

    assert first == {"deleted": BATCH * CAP, "batches": CAP, "truncated": True}
    assert [run["truncated"] for run in later] == [*[True] * (len(later) - 1), False]
    if FULL:  # a short batch is no measure: tests/plans counts the pages that it reads
        assert sum(costs[-10:]) <= 3 * sum(costs[:10])
    assert Session.objects.filter(expire_date__gt=timezone.now()).count() == LIVE + len(renewed)
    assert Session.objects.count() == LIVE + len(renewed)
    assert len(renewed) >= RENEWED
    assert set(renewed) <= set(Session.objects.values_list("pk", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_session_that_somebody_is_renewing_survives(settings):
    settings.RETENTION_BATCH = 2
    for name in ("renewed", "other", "third"):
        Session.objects.create(session_key=name, expire_date=days_ago(1))

    with direct.connect(application_name="writer", autocommit=False) as writer:
        writer.execute(
            "UPDATE django_session SET expire_date = now() + interval '1 day'"
            " WHERE session_key = 'renewed'"
        )
        during = summary_of(JOB)["sessions"]
        writer.commit()

    assert during == {"deleted": 2, "batches": 1, "truncated": False}
    assert [session.pk for session in Session.objects.all()] == ["renewed"]
    assert summary_of(JOB)["sessions"] == NOTHING


@pytest.mark.django_db(transaction=True)
def test_a_session_survives_whose_renewal_is_committed_while_the_sweep_waits_for_it(monkeypatch):
    monkeypatch.setattr("retention.batches.RANGE_LOCK_MS", 5000)
    for name in ("other", "renewed"):
        Session.objects.create(session_key=name, expire_date=days_ago(1))

    with direct.connect(application_name="writer", autocommit=False) as writer:
        writer.execute(
            "UPDATE django_session SET expire_date = now() + interval '1 day'"
            " WHERE session_key = 'renewed'"
        )
        waiting = threading.Thread(target=commit_when_waited_for, args=(writer,))
        waiting.start()
        entry = summary_of(JOB)["sessions"]
        waiting.join(30)

    assert entry == {"deleted": 1, "batches": 1, "truncated": False}
    assert [session.pk for session in Session.objects.all()] == ["renewed"]


def commit_when_waited_for(writer: direct.Connection) -> None:
    with direct.connect(application_name="watcher") as watcher:
        wait_until(lambda: watcher.execute(WAITERS).fetchone() is not None)
    writer.commit()


@pytest.mark.django_db(transaction=True)
def test_a_batch_of_one_age_is_no_larger_than_others(settings):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 3, 2
    moment = days_ago(1)
    for place in range(10):
        Session.objects.create(session_key=f"{place}", expire_date=moment)

    entry = summary_of(JOB)["sessions"]

    assert entry == {"deleted": 6, "batches": 2, "truncated": True}


def create_crowd(settings, count: int) -> None:
    """Create sessions of one instant, to be deleted by threes."""
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 3, 10
    moment = days_ago(1)
    for place in range(count):
        Session.objects.create(session_key=f"{place}", expire_date=moment)


@contextmanager
def crowd_with_one_held(settings) -> Iterator[direct.Connection]:
    """Twelve sessions of one instant, of which somebody renews one that is listed."""
    create_crowd(settings, 12)
    with direct.connect(application_name="writer", autocommit=False) as writer:
        writer.execute(
            "UPDATE django_session SET expire_date = now() + interval '1 day'"
            " WHERE session_key = '5'"
        )
        yield writer


def test_batches_of_a_crowd_walk_over_its_age_only_at_its_beginning(settings):
    create_crowd(settings, 30)

    with captured() as found:
        entry = summary_of(JOB)["sessions"]

    assert entry == {"deleted": 30, "batches": 10, "truncated": False}
    batches = [text for text in found if "FROM gone" in text and "django_session" in text]
    assert ["ORDER BY" in text for text in batches] == [True, *[False] * 9]


@pytest.mark.django_db(transaction=True)
def test_a_session_of_a_crowd_that_somebody_is_renewing_holds_up_nobody_and_survives(settings):
    with crowd_with_one_held(settings) as writer:
        during = summary_of(JOB)["sessions"]
        writer.commit()

    assert during == {"deleted": 11, "batches": 4, "truncated": False}
    assert [session.pk for session in Session.objects.all()] == ["5"]
    assert summary_of(JOB)["sessions"] == NOTHING


@pytest.mark.django_db(transaction=True)
def test_a_session_of_a_crowd_that_was_held_is_come_back_to(settings):
    context = context_of(JOB)

    with crowd_with_one_held(settings) as writer:

        def let_go() -> None:
            if Session.objects.count() <= 5:  # the batch that skipped it is over
                writer.rollback()

        context.on_checkpoint = let_go
        entry = context.declaration.run_once(context)["sessions"]

    assert entry == {"deleted": 12, "batches": 4, "truncated": False}
    assert not Session.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_session_of_a_crowd_that_is_renewed_between_two_batches_survives(settings):
    context = context_of(JOB)

    with crowd_with_one_held(settings) as writer:

        def renew() -> None:
            if Session.objects.count() == 6:  # its place is listed
                writer.execute(
                    "UPDATE django_session SET expire_date = now() + interval '1 day'"
                    " WHERE session_key = '10'"
                )
                writer.commit()

        context.on_checkpoint = renew
        entry = context.declaration.run_once(context)["sessions"]

    assert entry["deleted"] == 10
    assert {session.pk for session in Session.objects.all()} == {"5", "10"}


@pytest.mark.django_db(transaction=True)
def test_rows_that_are_only_locked_do_not_count_as_left(settings):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 1, 1
    Session.objects.create(session_key="free", expire_date=days_ago(2))
    Session.objects.create(session_key="locked", expire_date=days_ago(1))

    with direct.connect(application_name="writer", autocommit=False) as writer:
        writer.execute("SELECT FROM django_session WHERE session_key = 'locked' FOR UPDATE")
        locked = summary_of(JOB)["sessions"]
        writer.rollback()

    assert locked == {"deleted": 1, "batches": 1, "truncated": False}


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_waits_too_long_for_a_lock_is_halved_and_the_error_is_its_targets_own(
    settings, caplog
):
    settings.RETENTION_BATCH = 4
    settings.WORKER_STATEMENT_TIMEOUT_MS = 100
    Session.objects.create(session_key="old", expire_date=days_ago(1))
    SigninAttempt.objects.create(address_digest="a")
    SigninAttempt.objects.update(at=days_ago(1))

    with direct.connect(application_name="ddl", autocommit=False) as other:
        other.execute("LOCK TABLE django_session")
        locked = summary_of(JOB)
        other.rollback()

    assert "lock timeout" in locked["sessions"].pop("error")
    assert locked["sessions"] == NOTHING
    assert locked["signin.attempts"]["deleted"] == 1
    assert [record.args[1] for record in caplog.records if "batch_halved" in record.msg] == [2, 1]
    assert summary_of(JOB)["sessions"]["deleted"] == 1


def test_an_hour_takes_what_is_over_and_leaves_what_is_not():
    user = UserFactory()
    for digest, expires, used in (("old", 1, None), ("used", -1, 0), ("open", -1, None)):
        SigninLink.objects.create(
            user=user,
            digest=digest,
            expires_at=days_ago(expires),
            used_at=None if used is None else days_ago(used),
        )
    for age in (0, 1):
        attempt = SigninAttempt.objects.create(address_digest="a")
        SigninAttempt.objects.filter(pk=attempt.pk).update(at=days_ago(age))
        Session.objects.create(session_key=f"{age}", expire_date=days_ago(age * 2 - 1))
    for age in (364, 366):
        call = BillingAudit.objects.create(deletion_id=age, url="https://pay.example.com")
        BillingAudit.objects.filter(pk=call.pk).update(at=days_ago(age))

    output = summary_of(JOB)

    assert {name: entry["deleted"] for name, entry in output.items()} == {
        "sessions": 1,
        "deletions.billing_audit": 1,
        "signin.attempts": 1,
        "signin.links_expired": 1,
        "signin.links_used": 1,
    }
    assert [link.digest for link in SigninLink.objects.all()] == ["open"]
    assert [call.deletion_id for call in BillingAudit.objects.all()] == [364]
    assert [session.pk for session in Session.objects.all()] == ["0"]


def test_calls_of_the_billing_service_are_kept_for_days_of_their_own(settings):
    settings.BILLING_AUDIT_DAYS = 0
    BillingAudit.objects.create(deletion_id=1, url="https://pay.example.com")
    BillingAudit.objects.update(at=days_ago(0.01))

    assert summary_of(JOB)["deletions.billing_audit"]["deleted"] == 1


def test_rows_of_a_project_go_with_the_others(monkeypatch):
    monkeypatch.setattr(expired, "_by_name", dict(expired._by_name))
    declare_expired(name="shop.carts", label="Carts", model=ActivityLog, age_column="at")
    ActivityLog.objects.create(source="job", level="info", message="a cart", at=days_ago(1))

    assert summary_of(JOB)["shop.carts"]["deleted"] == 1


@pytest.mark.parametrize("engine", ["db", "cached_db"])
def test_both_engines_of_the_database_are_swept_by_batches(settings, engine):
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
    Session.objects.create(session_key="old", expire_date=days_ago(1))

    assert summary_of(JOB)["sessions"] == {"deleted": 1, "batches": 1, "truncated": False}


@pytest.fixture
def in_files(settings, tmp_path) -> Iterator[None]:
    """Keep sessions in files. The engine remembers where, for the rest of its process."""
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.file"
    settings.SESSION_FILE_PATH = str(tmp_path)
    yield
    with suppress(AttributeError):
        del SessionStore._storage_path


def test_sessions_in_files_are_cleared_by_their_own_engine(in_files, tmp_path):
    store = SessionStore()
    store.set_expiry(-3600)
    store.save()
    assert list(tmp_path.iterdir())

    entry = summary_of(JOB)["sessions"]

    assert list(tmp_path.iterdir()) == []
    assert entry["note"] == (
        "cleared by django.contrib.sessions.backends.file, which does not count"
    )


def test_an_engine_that_fails_is_an_error_beside_what_was_swept(in_files, settings, tmp_path):
    settings.SESSION_FILE_PATH = str(tmp_path / "nowhere")

    output = summary_of(JOB)

    assert "error" in output["sessions"]
    assert output["signin.attempts"] == NOTHING


@pytest.mark.django_db(transaction=True)
def test_a_sweep_leaves_nothing_behind_in_its_session(settings):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 2, 10
    for place in range(9):
        Session.objects.create(session_key=f"{place}", expire_date=days_ago(10 - place))

    entry = summary_of(JOB)["sessions"]

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone() == (0,)
    assert entry == {"deleted": 9, "batches": 5, "truncated": False}


@pytest.mark.django_db(transaction=True)
def test_what_a_batch_has_deleted_counts_although_the_rest_of_it_takes_too_long(
    settings, monkeypatch
):
    settings.RETENTION_BATCH, settings.RETENTION_MAX_BATCHES = 3, 10
    moment = days_ago(2)
    for place, age in enumerate((days_ago(4), days_ago(3), moment, moment, moment)):
        Session.objects.create(session_key=f"{place}", expire_date=age)
    failures = fail_once(monkeypatch, after=0)

    entry = summary_of(JOB)["sessions"]

    assert failures == [1]
    assert entry == {"deleted": 5, "batches": 2, "truncated": False}


@pytest.mark.django_db(transaction=True)
def test_what_a_batch_of_a_crowd_has_deleted_counts_although_it_is_cut_short(settings, monkeypatch):
    failures = fail_once(monkeypatch, after=2)

    with crowd_with_one_held(settings):
        entry = summary_of(JOB)["sessions"]

    assert failures == [3]  # the second batch deletes two, and then one that makes up for the held
    assert entry == {"deleted": 11, "batches": 4, "truncated": False}


def fail_once(monkeypatch, *, after: int) -> list[int]:
    """Let a statement of the batches take too long; returns a list for which one that was."""
    failures: list[int] = []
    counted = itertools.count(1)

    def run_shortly_but_once(*arguments, **options):
        number = next(counted)
        if number != after + 1:
            return run_shortly(*arguments, **options)
        failures.append(number)
        raise OperationalError from postgres.LockNotAvailable()

    monkeypatch.setattr("retention.batches.run_shortly", run_shortly_but_once)
    return failures
