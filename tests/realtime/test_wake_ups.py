"""What wakes the outbox's worker, and what that costs those who write."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections, transaction

from jobs import direct, notifier
from jobs.declarations import registry
from jobs.models.run import Trigger
from jobs.stopping import StopSignal
from jobs.workers import queue_pass
from jobs.workers.loop import JobLoop
from jobs.workers.queue_pass import Next
from realtime import at_once
from realtime import jobs as realtime_jobs
from realtime.delivery import deliver
from realtime.models import OutboxEvent
from realtime.policy import outbox_policy
from tests.conftest import wait_until
from tests.forms import FULL, form
from tests.realtime.working import messages, put

pytestmark = pytest.mark.django_db(transaction=True)
TRIGGERS = 500
WRITERS = 16


class Gate:
    """Holds up a function of the worker after or before it has done its work."""

    def __init__(self, work: Callable[..., Any], *, after: bool) -> None:
        self._work, self._after = work, after
        self.calls = 0
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        if not self._after:
            self._hold()
        found = self._work(*args, **options)
        if self._after and found is None:
            self._hold()
        return found

    def _hold(self) -> None:
        self.reached.set()
        assert self.open.wait(30)


@pytest.fixture
def loop() -> Iterator[JobLoop]:
    """A loop of the outbox that ends with the test; it is woken by the test alone."""
    loop = JobLoop(registry.get("realtime.outbox"), StopSignal())
    loop.start()
    wait_until(lambda: loop.state == "waiting")
    yield loop
    loop._stop_signal.set()
    loop.look_up()
    loop.join(20)
    assert not loop.is_alive()


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[Trigger]:
    """The triggers of the passes that have begun."""
    begun: list[Trigger] = []
    work = realtime_jobs.work_whole_claims

    def note(context: Any, *args: Any, **options: Any) -> None:
        begun.append(context.trigger)
        work(context, *args, **options)

    monkeypatch.setattr(realtime_jobs, "work_whole_claims", note)
    return begun


@pytest.fixture
def by_claims_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime_jobs, "deliver_at_once", lambda *_: Next.CLAIM)


@pytest.mark.usefixtures("by_claims_alone")
def test_500_triggers_during_a_delivery_are_one_more_look(
    loop: JobLoop, passes: list[Trigger], monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = Gate(deliver, after=False)
    looks = Gate(queue_pass.claim_rows, after=True)
    looks.open.set()
    monkeypatch.setattr(realtime_jobs, "deliver", delivery)
    monkeypatch.setattr(queue_pass, "claim_rows", looks)
    put("first")
    loop.wake(Trigger.NOTIFY)
    assert delivery.reached.wait(20)

    for _ in range(TRIGGERS):
        loop.wake(Trigger.NOTIFY)
    put("meanwhile")
    delivery.open.set()
    wait_until(lambda: len(messages()) == 2)
    wait_until(lambda: loop.state == "waiting")

    # The one that found the first event, the one that found the other, the one that found none.
    assert (looks.calls, passes) == (3, [Trigger.NOTIFY])


@pytest.mark.usefixtures("by_claims_alone")
def test_500_triggers_at_the_end_of_a_pass_are_one_more_pass(
    loop: JobLoop, passes: list[Trigger], monkeypatch: pytest.MonkeyPatch
) -> None:
    last_look = Gate(queue_pass.claim_rows, after=True)
    monkeypatch.setattr(queue_pass, "claim_rows", last_look)
    loop.wake(Trigger.NOTIFY)
    assert last_look.reached.wait(20)

    put("too late for the look")
    for _ in range(TRIGGERS):
        loop.wake(Trigger.NOTIFY)
    last_look.open.set()
    wait_until(lambda: len(messages()) == 1)
    wait_until(lambda: loop.state == "waiting")

    assert passes == [Trigger.NOTIFY, Trigger.NOTIFY]


@pytest.mark.usefixtures("by_claims_alone")
def test_triggers_whose_work_is_done_already_cost_one_empty_look(
    loop: JobLoop, passes: list[Trigger], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Gate(queue_pass.claim_rows, after=True)
    monkeypatch.setattr(queue_pass, "claim_rows", looks)
    loop.wake(Trigger.NOTIFY)
    assert looks.reached.wait(20)

    for _ in range(TRIGGERS):
        loop.wake(Trigger.NOTIFY)
    looks.open.set()
    wait_until(lambda: looks.calls == 2)
    wait_until(lambda: loop.state == "waiting")

    assert (looks.calls, len(passes)) == (2, 2)


def test_500_triggers_during_a_delivery_without_a_claim_are_no_more_than_one_more_look(
    loop: JobLoop, passes: list[Trigger], monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox_policy().pace.whole_look(seconds=0.0, full=False, last=None)
    delivery = Gate(at_once._call, after=False)
    monkeypatch.setattr(at_once, "_call", delivery)
    put("first")
    loop.wake(Trigger.NOTIFY)
    assert delivery.reached.wait(20)

    for _ in range(TRIGGERS):
        loop.wake(Trigger.NOTIFY)
    delivery.open.set()
    wait_until(lambda: len(messages()) == 1)
    wait_until(lambda: loop.state == "waiting")

    # The one that found the event, and the one that found none.
    assert (delivery.calls, passes) == (2, [Trigger.NOTIFY])


@contextlib.contextmanager
def writing(*, wakes: bool) -> Iterator[tuple[list[int], set[int]]]:
    """
    Let sixteen threads write events for as long as the block lasts.

    Gives how many each has written, and the process ids of their servers.
    """
    counts, pids = [0] * WRITERS, set[int]()
    ended = threading.Event()

    def write(place: int) -> None:
        try:
            while not ended.is_set():
                with transaction.atomic():
                    put(place)
                    if not wakes:
                        connections["default"].run_on_commit = []
                counts[place] += 1
            pids.add(connections["default"].connection.info.backend_pid)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(place,)) for place in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield counts, pids
    finally:
        ended.set()
        for thread in threads:
            thread.join(30)


def test_sixteen_writers_send_a_handful_of_notifications_between_them() -> None:
    with contextlib.closing(direct.connect(application_name="test")) as ear:
        ear.execute("LISTEN realtime_outbox")
        began = time.monotonic()
        with writing(wakes=True) as (counts, pids):
            wait_until(lambda: sum(counts) >= form(short=300, full=5000), seconds=60)
        lasted = time.monotonic() - began
        notifier.flush()
        heard = list(ear.notifies(timeout=0.5))

    assert 1 <= len(heard) <= lasted / notifier.FOLD_SECONDS + 2
    assert len(pids) == WRITERS
    assert not pids & {note.pid for note in heard}  # sent on connections of the notifier
    assert OutboxEvent.objects.count() == sum(counts)


@pytest.mark.skipif(not FULL, reason="measures rates, which a busy machine has none of")
def test_sixteen_writers_lose_at_most_a_tenth_by_the_wake_ups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rates: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(20):
        wakes = turn % 2 == 0
        began = time.monotonic()
        with writing(wakes=wakes) as (counts, _):
            time.sleep(1.5)
        rates[wakes].append(sum(counts) / (time.monotonic() - began))

    with_wakes, without = (statistics.median(rates[wakes]) for wakes in (True, False))
    with capsys.disabled():
        print(f"  [with={with_wakes:.0f}/s without={without:.0f}/s]")
    assert with_wakes >= 0.9 * without
