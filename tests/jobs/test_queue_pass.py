"""One pass over a queue: what is claimed, handed on, settled, stopped; and what keeps rows held."""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace

import pytest
from django.db import OperationalError, connections

from jobs.claims import ClaimPolicy, Counts, Lease, claim, claim_rows
from jobs.claims.holdings import suspect_gate
from jobs.context import RunContext
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.workers.heartbeat import Heartbeat
from jobs.workers.queue_pass import GiveUp, QueuePass, Waiting, work_queue, work_whole_claims
from tests.conftest import wait_until
from tests.testapp.jobs import letter_policy, parcel_policy
from tests.testapp.models import Crate, Letter, Parcel

pytestmark = pytest.mark.django_db(transaction=True)


def new_context():
    return RunContext(declaration=registry.get("testapp.parcels"), trigger=Trigger.SCHEDULE)


def parcels(count):
    return Parcel.objects.bulk_create([Parcel(address=str(number)) for number in range(count)])


def run_apart(function):
    """Run on a thread of its own, which closes its connections."""

    def run():
        try:
            function()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def waiting_for(event):
    """Return a handler that ends when the event is set."""

    def handle(row):
        event.wait(20)

    return handle


def status_counts(model):
    statuses = list(model.objects.values_list("status", flat=True))
    return {status: statuses.count(status) for status in set(statuses)}


def test_a_pass_works_until_nothing_is_due():
    parcels(30)
    context = new_context()

    work_queue(context, parcel_policy(), lambda row: None)

    assert status_counts(Parcel) == {"done": 30}
    assert dict(context.counts) == {"claimed": 30, "done": 30}


def test_rows_added_during_a_pass_are_seen_when_their_commit_wakes_it():
    parcels(1)
    context = new_context()
    added = []

    def handle(row):
        if not added:
            added.extend(parcels(2))
            context.woken.set()

    work_queue(context, parcel_policy(), handle)

    assert status_counts(Parcel) == {"done": 3}


def test_a_wake_up_in_the_last_moment_of_a_pass_is_still_its_own(monkeypatch):
    """The last row ends, and wakes, between the look at the queue and the end of the pass."""
    parcels(1)
    context, looked = new_context(), threading.Event()
    refill, added = QueuePass._refill, []

    def refill_and_wait(self):
        refill(self)
        if self._in_flight and not self._may_have_more and not added:
            looked.set()
            wait_until(lambda: not self._in_flight)

    def handle(row):
        if not added:
            assert looked.wait(20)
            added.extend(parcels(2))
            context.woken.set()

    monkeypatch.setattr(QueuePass, "_refill", refill_and_wait)
    work_queue(context, parcel_policy(), handle)

    assert status_counts(Parcel) == {"done": 3}


def test_each_row_is_settled_by_what_its_handler_does():
    rows = parcels(4)

    def handle(row):
        match row.address:
            case "0":
                return Waiting(seconds=60)
            case "1":
                return GiveUp(reason="nobody lives there")
            case "2":
                raise ValueError("no such street")
        return None

    work_queue(new_context(), parcel_policy(), handle)

    waits, given_up, failed, done = (Parcel.objects.get(pk=row.pk) for row in rows)
    assert (waits.status, waits.attempts, waits.next_retry_at is None) == ("pending", 0, False)
    assert (given_up.status, given_up.next_retry_at) == ("failed", None)
    assert given_up.last_error == "nobody lives there"
    assert (failed.status, failed.attempts, failed.next_retry_at is None) == ("failed", 1, False)
    assert failed.last_error.startswith("ValueError: no such street\n")
    assert done.status == "done"


def test_a_claim_that_is_an_attempt_takes_no_more_rows_than_there_are_free_handlers():
    parcels(20)
    go, most = threading.Event(), []

    def handle(row):
        most.append(Parcel.objects.filter(status="processing").count())
        go.wait(0.05)

    work_queue(new_context(), parcel_policy(), handle)

    assert max(most) <= parcel_policy().handlers


def one_thread():
    return replace(letter_policy(), handlers=1)


def test_the_next_row_is_begun_in_the_statement_that_settles_the_one_before(monkeypatch):
    Letter.objects.bulk_create([Letter() for _ in range(3)])
    written, write = [], claim.write_shortly
    monkeypatch.setattr(
        claim, "write_shortly", lambda *given, **how: written.append(given) or write(*given, **how)
    )

    work_queue(new_context(), one_thread(), lambda row: None)

    assert status_counts(Letter) == {"done": 3}
    assert len(written) == 4  # the first begins, two end with the next one's beginning, one ends


def test_a_row_is_begun_before_it_is_worked_on_and_one_at_a_time_in_a_thread():
    Letter.objects.bulk_create([Letter() for _ in range(4)])
    begun = []

    def handle(row):
        begun.append(list(Letter.objects.exclude(begun_at=None).values_list("pk", flat=True)))
        if len(begun) == 2:
            raise ValueError("no such street")

    work_queue(new_context(), one_thread(), handle)

    assert begun == [[row.pk] for row in Letter.objects.order_by("pk")]
    assert status_counts(Letter) == {"done": 3, "failed": 1}


def test_a_row_that_was_lost_while_it_waited_its_turn_is_not_worked_on(caplog):
    first, lost, last = Letter.objects.bulk_create([Letter() for _ in range(3)])
    handled = []

    def handle(row):
        handled.append(row.pk)
        if row.pk == first.pk:
            Letter.objects.filter(pk=lost.pk).update(claim_token=uuid.uuid4())

    context = new_context()
    work_queue(context, one_thread(), handle)

    assert handled == [first.pk, last.pk]
    assert caplog.text.count(f"stale_completion_rejected queue=testapp_letters id={lost.pk}") == 1
    assert Letter.objects.get(pk=lost.pk).status == "processing"
    assert context.counts["done"] == 2


def test_a_stop_gives_back_what_is_not_begun_and_waits_for_what_is():
    Letter.objects.bulk_create([Letter() for _ in range(12)])
    context, go = new_context(), threading.Event()
    running = run_apart(lambda: work_queue(context, letter_policy(), waiting_for(go)))
    wait_until(lambda: Letter.objects.filter(begun_at__isnull=False).count() == 4)

    context.stop.set(grace_ms=20_000)
    wait_until(lambda: status_counts(Letter) == {"processing": 4, "pending": 8})
    go.set()
    running.join(20)

    assert status_counts(Letter) == {"done": 4, "pending": 8}
    assert set(Letter.objects.values_list("attempts", "interruptions")) == {(0, 0)}
    assert context.counts["released"] == 8


def test_what_is_in_flight_when_the_grace_ends_is_taken_back():
    parcels(2)
    context, go = new_context(), threading.Event()
    running = run_apart(lambda: work_queue(context, parcel_policy(), waiting_for(go)))
    wait_until(lambda: Parcel.objects.filter(begun_at__isnull=False).count() == 2)

    context.stop.set(grace_ms=0)
    running.join(20)

    assert set(Parcel.objects.values_list("status", "attempts", "interruptions")) == {
        ("pending", 0, 1)
    }
    go.set()


def test_a_handler_that_ends_in_the_moment_it_is_taken_back_warns_of_nothing(caplog):
    """The second of two writes by one process finds the row settled, not lost."""
    parcels(1)
    held = claim_rows(parcel_policy())
    row = held.rows[0]
    held.begin(row)

    assert held.interrupt(row) == 1
    assert held.complete(row) == 0

    assert not [r for r in caplog.records if "stale_completion" in r.getMessage()]
    assert Parcel.objects.get().status == "pending"


@pytest.mark.parametrize("beats_first", [True, False])
def test_a_refresh_that_meets_a_completion_reports_nothing_lost(monkeypatch, caplog, beats_first):
    """The heartbeat has chosen its rows when their handler ends one of them."""
    parcels(2)
    held = claim_rows(parcel_policy())
    done = []

    def choose_then_complete(self, rows, values, **options):
        if not done:
            done.append(original(self, rows[:0], values))
            if beats_first:
                original(self, rows, values)
            assert held.complete(held.rows[0]) == 1
        return original(self, rows, values, **options)

    original = claim.Claim._update
    monkeypatch.setattr(claim.Claim, "_update", choose_then_complete)
    held.heartbeat()

    assert not [r for r in caplog.records if "stale_completion" in r.getMessage()]
    assert status_counts(Parcel) == {"done": 1, "processing": 1}
    assert held.complete() == 1


def test_the_gate_of_suspects_is_left_once_however_many_threads_let_go_of_the_row():
    Parcel.objects.create(address="a")
    first = claim_rows(parcel_policy())
    first.begin(first.rows[0])
    first.forget(*first.rows)
    Parcel.objects.update(claimed_at="2000-01-01T00:00:00Z")
    suspect = claim_rows(parcel_policy())
    assert suspect.suspect
    assert not suspect_gate.try_enter()

    threads = [run_apart(lambda: suspect.forget(*suspect.rows)) for _ in range(8)]
    for thread in threads:
        thread.join(20)

    assert suspect_gate.try_enter()
    suspect_gate.leave()


def short_lease_policy():
    return ClaimPolicy(model=Crate, counts=Counts.ON_CLAIM, expiry=Lease(ms=3000))


def test_a_lease_shorter_than_the_pause_of_the_heartbeat_is_refreshed_before_it_ends(settings):
    settings.WORKER_CLAIM_STALE_MS, settings.JOB_LEASE_MS = 300_000, 60_000
    beat = threading.Event()
    heartbeat = Heartbeat(dict, report=beat.set)
    Crate.objects.create()
    heartbeat.start()
    held = claim_rows(short_lease_policy())
    first = Crate.objects.get().lease_expires_at

    wait_until(lambda: Crate.objects.get().lease_expires_at > first)

    second = Crate.objects.get().lease_expires_at
    heartbeat.end()
    heartbeat.join(20)
    assert (second - first).total_seconds() < 3  # it had not ended yet
    assert held.complete() == 1


def test_a_claim_that_cannot_be_refreshed_does_not_keep_the_others_from_it(monkeypatch):
    parcels(1)
    Letter.objects.create()
    stuck, held = claim_rows(parcel_policy()), claim_rows(letter_policy())
    before = Letter.objects.get().claimed_at

    def time_out():
        raise OperationalError from FakeTimeoutError()

    monkeypatch.setattr(stuck, "heartbeat", time_out)
    Heartbeat(dict).beat()

    assert Letter.objects.get().claimed_at > before
    assert held.complete() == 1


class FakeTimeoutError(Exception):
    """A statement that took too long, by its SQLSTATE."""

    sqlstate = "57014"


def whole_policy():
    return ClaimPolicy(
        model=Parcel,
        counts=Counts.ON_CLAIM,
        max_attempts=5,
        whole_claims=True,
        batch=10,
        backoff_ms=(200,),
    )


def test_a_handler_of_whole_claims_gets_them_one_after_the_other():
    parcels(25)
    sizes = []

    work_whole_claims(new_context(), whole_policy(), lambda held: sizes.append(len(held.rows)))

    assert sum(sizes) == 25
    assert max(sizes) == 10
    assert set(Parcel.objects.values_list("status", "attempts")) == {("done", 1)}


def test_a_whole_claim_whose_handler_raises_fails_each_row_that_it_had_not_settled():
    parcels(3)

    def handle(held):
        held.complete(held.rows[0])
        raise ValueError("no")

    work_whole_claims(new_context(), whole_policy(), handle)

    assert status_counts(Parcel) == {"done": 1, "failed": 2}
