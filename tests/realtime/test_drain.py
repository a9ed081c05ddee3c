"""What a long drain costs while an old snapshot keeps every dead entry in its index."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from django.db import connection, connections

from jobs.claims import Claim
from jobs.workers.queue_pass import Next, work_whole_claims
from realtime.at_once import deliver_at_once
from realtime.delivery import deliver
from realtime.models import BusMessage
from tests.forms import FULL, form
from tests.realtime.working import new_context, own_policy

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.plans]
EVENTS = form(short=2_000, full=20_000)


@contextlib.contextmanager
def open_snapshot() -> Iterator[None]:
    """Hold what a running pg_dump holds."""
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM realtime_outbox")
        yield
    finally:
        other.close()


def fill(count: int, key: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO realtime_outbox (topic, event, payload, audience, ordering_key)"
            " SELECT 'news', 'told', to_jsonb(g), '{\"mode\": \"all\"}',"
            f" {key} FROM generate_series(1, %s) AS g",
            [count],
        )
        cursor.execute("ANALYZE realtime_outbox")


def entries_read() -> int:
    """Return how many entries of the outbox's indexes were read so far, dead ones too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'realtime_outbox'"
        )
        return int(cursor.fetchone()[0])


KEYS = {"20 keys": "'k:' || mod(g, 20)", "own": "'k:' || g", "one": "'k'", "none": "NULL"}


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("key", form(short=["20 keys", "none"], full=list(KEYS)))
def test_the_last_quarter_of_a_drain_costs_no_more_than_the_first(
    key: str, capsys: pytest.CaptureFixture[str], *, at_once: bool
) -> None:
    marks: list[tuple[float, int]] = []
    policy = own_policy()
    context = new_context()
    fill(EVENTS, KEYS[key])

    def mark() -> None:
        if context.counts["done"] * 4 >= EVENTS * len(marks):
            marks.append((time.monotonic(), entries_read()))
        if not FULL:  # looks back come with the seconds, of which a busy machine has more
            policy.pace.whole_at = time.monotonic() + 60

    def deliver_and_mark(claim: Claim) -> None:
        deliver(context, claim)
        mark()

    def deliver_at_once_and_mark() -> Next:
        step = deliver_at_once(context, policy) if at_once else Next.CLAIM
        mark()
        return step

    with open_snapshot():
        marks.append((time.monotonic(), entries_read()))
        work_whole_claims(context, policy, deliver_and_mark, ahead=deliver_at_once_and_mark)

    assert BusMessage.objects.count() == EVENTS
    parts = list(pairwise(marks))
    seconds = [round(after[0] - before[0], 2) for before, after in parts]
    entries = [after[1] - before[1] for before, after in parts]
    with capsys.disabled():
        print(
            f"  [key={key} at_once={at_once} events={EVENTS} seconds={seconds} entries={entries}]"
        )
    if FULL:
        assert seconds[3] <= 1.5 * seconds[0]
    else:
        assert entries[3] <= 1.5 * entries[0]
        assert entries[3] <= 10 * EVENTS / 4
