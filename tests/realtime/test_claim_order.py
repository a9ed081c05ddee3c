"""Which events a claim takes, where some wait for others of their key."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.db import connections, transaction
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from jobs.claims import Claim, ClaimPolicy, claim_rows
from jobs.clock import ClockTime
from jobs.errors import PolicyError
from jobs.queues import UNFINISHED
from realtime.models import OutboxEvent
from realtime.policy import outbox_policy
from tests.forms import form
from tests.realtime.working import expire_leases, locked_by_another, own_policy, put

pytestmark = pytest.mark.django_db(transaction=True)


def payloads(claim: Claim | None) -> list[Any]:
    return [] if claim is None else [row.payload for row in claim.rows]  # type: ignore[attr-defined]


def finish(claim: Claim) -> None:
    claim.complete(finished_at=ClockTime())


def test_events_of_a_key_are_claimed_together_in_their_order() -> None:
    put("a1", "a2", "a3", key="a")
    put("b1", key="b")
    put("free")

    assert payloads(claim_rows(own_policy())) == ["a1", "a2", "a3", "b1", "free"]


def test_a_key_in_work_waits_and_the_others_go_on() -> None:
    put("a1", "a2", key="a")
    first = claim_rows(own_policy(), limit=1)
    assert first is not None
    put("a3", key="a")
    put("b1", key="b")

    other = own_policy()
    assert payloads(claim_rows(other)) == ["b1"]
    assert payloads(claim_rows(other)) == []

    finish(first)
    assert payloads(claim_rows(other)) == ["a2", "a3"]


def test_a_long_row_of_waiting_events_fills_no_claim() -> None:
    put(*range(20), key="a")
    assert claim_rows(own_policy(), limit=1) is not None
    put("b1", key="b")

    assert payloads(claim_rows(own_policy(), limit=2)) == ["b1"]


def test_an_event_that_another_claim_has_locked_holds_up_its_key() -> None:
    first, *_ = put("a1", "a2", key="a")
    put("b1", key="b")

    with locked_by_another(first):
        assert payloads(claim_rows(own_policy())) == ["b1"]


def test_an_event_that_waits_for_its_retry_holds_up_its_key() -> None:
    put("a1", "a2", key="a")
    policy = own_policy()
    claim = claim_rows(policy, limit=1)
    assert claim is not None
    claim.retry(claim.rows[0], "no", delay_ms=60_000)
    assert payloads(claim_rows(policy)) == []

    OutboxEvent.objects.filter(status="failed").update(next_retry_at="2020-01-01T00:00Z")
    again = claim_rows(policy)
    assert payloads(again) == ["a1"]
    assert again is not None
    again.bury(again.rows[0], "no")

    assert payloads(claim_rows(policy)) == ["a2"]


def test_stale_events_of_a_key_are_claimed_again_in_their_order() -> None:
    put("a1", "a2", key="a")
    assert payloads(claim_rows(own_policy())) == ["a1", "a2"]
    expire_leases()
    put("a3", key="a")

    policy = own_policy()
    found = []
    while claim := claim_rows(policy):
        found += payloads(claim)
        finish(claim)

    assert found == ["a1", "a2", "a3"]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_clock_that_stepped_back_stops_no_key(limit: int) -> None:
    ids = put("a1", "a2", "a3", "a4", key="a")
    for place, row_id in enumerate(ids):
        moment = f"2026-01-01T00:00:{30 - place:02d}Z"
        OutboxEvent.objects.filter(pk=row_id).update(created_at=moment)

    policy = own_policy()
    found = []
    while claim := claim_rows(policy, limit=limit):
        found += payloads(claim)
        finish(claim)

    assert found == ["a1", "a2", "a3", "a4"]


def test_events_are_claimed_by_age_and_then_by_number() -> None:
    ids = put("late", "early", "same")
    moments = ("2026-01-02T00:00Z", "2026-01-01T00:00Z", "2026-01-02T00:00Z")
    for row_id, moment in zip(ids, moments, strict=True):
        OutboxEvent.objects.filter(pk=row_id).update(created_at=moment)

    policy = own_policy()
    assert [payloads(claim_rows(policy, limit=1)) for _ in range(3)] == [
        ["early"], ["late"], ["same"],
    ]  # fmt: skip


def test_what_was_committed_behind_the_watermark_is_claimed_after_a_wake_up() -> None:
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(
                "INSERT INTO realtime_outbox (topic, event, payload, audience)"
                """ VALUES ('news', 'told', '"behind"', '{"mode": "all"}')"""
            )
        put(*range(6))
        policy = own_policy(batch=2)
        assert payloads(claim_rows(policy)) == [0, 1]
        assert policy.pace.after is not None
        other.commit()
    finally:
        other.close()
    # Let no slow minute of the machine make a look come by itself, or cost too much.
    policy.pace.whole_at += 60
    policy.pace.back_at = 0.0
    assert payloads(claim_rows(policy)) == [2, 3]

    policy.pace.woken()

    assert payloads(claim_rows(policy)) == ["behind", 4]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "claim", "finish", "retry", "due", "bury", "release", "expire"]),
        st.integers(0, 2),
        st.integers(1, 4),
    ),
    max_size=25,
)


@given(STEPS)
@hypothesis_settings(max_examples=form(short=15, full=150))
def test_whatever_happens_no_event_passes_an_earlier_unfinished_one_of_its_key(
    steps: list[tuple[str, int, int]],
) -> None:
    OutboxEvent.objects.all().delete()
    workers = [own_policy(batch=size) for size in (1, 2, 5)]
    held: list[list[Claim]] = [[], [], []]
    for what, who, size in steps:
        _step(workers[who], held[who], what, who, size)

    for claim in itertools.chain(*held):
        claim.forget(*claim.rows)  # its worker is dead, and bars no suspect any more
    expire_leases()
    make_all_due()
    while claim := claim_rows(workers[2]):
        check_order(claim)
        finish(claim)
        make_all_due()
    assert not OutboxEvent.objects.filter(UNFINISHED).exists()


def _step(policy: ClaimPolicy, held: list[Claim], what: str, who: int, size: int) -> None:
    claim = held[-1] if held else None
    match what:
        case "put":
            put(*range(size), key=f"key:{who}")
        case "claim":
            policy.pace.reset()
            new = claim_rows(policy, limit=size)
            if new is not None:
                check_order(new)
                held.append(new)
        case "due":
            make_all_due()
        case "expire":
            expire_leases()
        case _ if claim is not None:
            held.pop()
            _settle(claim, what)


def _settle(claim: Claim, what: str) -> None:
    match what:
        case "finish":
            finish(claim)
        case "release":
            claim.release()
        case "retry" | "bury":
            first, *rest = claim.rows
            act = claim.retry if what == "retry" else claim.bury
            act(first, "no")
            if rest:
                claim.release(*rest)


def check_order(claim: Claim) -> None:
    """Fail if a row was claimed before an earlier one of its key that is not in the claim."""
    mine = {row.pk for row in claim.rows}
    for row in claim.rows:
        earlier = OutboxEvent.objects.filter(
            UNFINISHED,
            ordering_key=row.ordering_key,
            pk__lt=row.pk,  # type: ignore[attr-defined]
        )
        assert set(earlier.values_list("pk", flat=True)) <= mine


def make_all_due() -> None:
    OutboxEvent.objects.filter(next_retry_at__isnull=False).update(
        next_retry_at="2020-01-01T00:00Z"
    )


def test_rows_that_wait_for_others_are_claimed_in_an_ascending_order() -> None:
    with pytest.raises(PolicyError, match="order_key needs an order of ascending columns"):
        own_policy(order=("-id",))


def test_a_claim_inside_a_transaction_of_the_caller_works() -> None:
    put("a1", "a2", key="a")

    with transaction.atomic():
        assert payloads(claim_rows(outbox_policy())) == ["a1", "a2"]
