"""Claims against a small model: workers that begin, settle, die and come back late."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from jobs.claims import Claim, ClaimPolicy, claim_rows
from jobs.claims.burial import bury_exhausted
from jobs.claims.holdings import holdings
from jobs.errors import LostClaimError
from tests.forms import FULL, form
from tests.testapp.jobs import letter_policy, parcel_policy
from tests.testapp.models import Parcel

LONG_AGO = "clock_timestamp() - interval '1 day'"


@dataclass
class Expected:
    """What a row should be."""

    status: str = "pending"
    attempts: int = 0
    recoveries: int = 0
    due: bool = True  # a pending or failed row that may be taken now
    dead: bool = False
    stale: bool = False
    begun: bool = False
    holder: object = None


@dataclass(eq=False)
class Held:
    """A claim, as the worker sees it that made it."""

    claim: Claim
    rows: list[Any]


class QueueMachine(RuleBasedStateMachine):
    """Any order of what may happen to the rows of a queue."""

    make_policy: Callable[[], ClaimPolicy]
    counts_on_claim: bool

    holds = Bundle("holds")

    def __init__(self) -> None:
        super().__init__()
        self.policy = type(self).make_policy()
        self.policy.model.objects.all().delete()
        self.rows: dict[int, Expected] = {}
        self.suspected: list[Claim] = []

    @initialize(count=st.integers(2, 5))
    def begin_with(self, count: int) -> None:
        self.insert_rows(count)

    @rule(count=st.integers(1, 3))
    def insert(self, count: int) -> None:
        self.insert_rows(count)

    def insert_rows(self, count: int) -> None:
        extra = {"address": "a"} if self.policy.model is Parcel else {}
        for _ in range(count):
            self.rows[self.policy.model.objects.create(**extra).pk] = Expected()

    @rule(target=holds, limit=st.integers(1, 4), anew=st.booleans())
    def claim(self, limit: int, anew: bool) -> Any:  # noqa: FBT001
        """``anew`` by a process that has not claimed before, and so looks at everything."""
        suspects = {pk for pk, row in self.rows.items() if self.is_suspect(row)}
        if any(claim.held for claim in self.suspected):
            suspects = set()  # one at a time in a process
        free = {pk for pk, row in self.rows.items() if self.is_free(row)}

        claim = claim_rows(type(self).make_policy() if anew else self.policy, limit=limit)

        taken = {row.pk for row in claim.rows} if claim else set()
        if taken & suspects:
            assert len(taken) == 1
            self.suspected.append(claim)
        else:
            assert taken <= free
            assert len(taken) <= limit
            assert taken or not (free or suspects)
            if anew:
                assert not suspects
                assert len(taken) == min(limit, len(free))
        for pk in taken:
            self.note_claim(self.rows[pk], claim)
        return Held(claim=claim, rows=claim.rows) if claim else multiple()

    def note_claim(self, row: Expected, claim: Any) -> None:
        if self.counts_on_claim and not (row.stale and not row.begun):
            row.attempts += 1
        if row.stale and row.begun:
            row.recoveries += 1
        row.status, row.stale, row.begun, row.holder = "processing", False, False, claim

    def is_suspect(self, row: Expected) -> bool:
        return row.stale and row.begun and not self.is_spent(row)

    def is_spent(self, row: Expected) -> bool:
        if self.counts_on_claim:
            return row.attempts >= self.policy.max_attempts
        return row.recoveries >= self.policy.max_stale_recoveries

    def is_free(self, row: Expected) -> bool:
        if row.stale:
            return not row.begun
        return row.status in ("pending", "failed") and row.due and not row.dead

    @rule(held=holds, place=st.integers(0, 3))
    def begin(self, held: Held, place: int) -> None:
        row, expected = self.pick(held, place)
        if not held.claim.holds(row):
            return
        try:
            held.claim.begin(row)
        except LostClaimError:
            assert expected.holder is not held.claim
        else:
            assert expected.holder is held.claim
            expected.begun = True

    @rule(
        held=holds,
        place=st.integers(0, 3),
        verb=st.sampled_from(["complete", "retry", "bury", "release", "wait"]),
    )
    def settle(self, held: Held, place: int, verb: str) -> None:
        row, expected = self.pick(held, place)
        mine = expected.holder is held.claim and held.claim.holds(row)

        changed = {
            "complete": lambda: held.claim.complete(row),
            "retry": lambda: held.claim.retry(row, "no", delay_ms=3_600_000),
            "bury": lambda: held.claim.bury(row, "no"),
            "release": lambda: held.claim.release(row),
            "wait": lambda: held.claim.wait(row, delay_ms=3_600_000),
        }[verb]()

        assert changed == (1 if mine else 0)
        if mine:
            self.note_end(expected, verb)

    def note_end(self, row: Expected, verb: str) -> None:
        row.holder, row.stale, row.begun = None, False, False
        match verb:
            case "complete":
                row.status = "done"
            case "bury":
                row.status, row.dead = "failed", True
            case "retry":
                row.attempts += 0 if self.counts_on_claim else 1
                row.status, row.due = "failed", False
                row.dead = row.attempts >= self.policy.max_attempts
            case "release" | "wait":
                row.attempts -= 1 if self.counts_on_claim else 0
                row.status, row.due = "pending", verb == "release"

    @rule(held=holds)
    def refresh(self, held: Held) -> None:
        """A worker that lives moves its rows forward, also those that had become stale."""
        mine = [
            row.pk
            for row in held.rows
            if self.rows[row.pk].holder is held.claim and held.claim.holds(row)
        ]

        assert held.claim.heartbeat() == len(mine)

        for pk in mine:
            self.rows[pk].stale = False

    @rule(held=consumes(holds))
    def die(self, held: Held) -> None:
        """A worker that is gone writes nothing any more; its rows turn stale."""
        held.claim.forget(*held.rows)
        for row in held.rows:
            if self.rows[row.pk].holder is held.claim:
                self.turn_stale(row.pk)

    @rule(held=holds)
    def stand_still(self, held: Held) -> None:
        """A worker that is stopped past the window may come back."""
        for row in held.rows:
            if self.rows[row.pk].holder is held.claim:
                self.turn_stale(row.pk)

    def turn_stale(self, pk: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {self.policy.queue} SET claimed_at = {LONG_AGO} WHERE id = %s", [pk]
            )
        self.rows[pk].stale = True

    @rule()
    def bury_the_spent(self) -> None:
        spent = {
            pk for pk, row in self.rows.items() if row.stale and row.begun and self.is_spent(row)
        }

        assert set(bury_exhausted(self.policy)) == spent

        for pk in spent:
            self.note_end(self.rows[pk], "bury")

    @rule()
    def let_time_pass(self) -> None:
        """Whatever waits for its time is due."""
        waiting = self.policy.model.objects.filter(next_retry_at__isnull=False)
        waiting.update(next_retry_at=dt.datetime.now(dt.UTC) - dt.timedelta(hours=1))
        for row in self.rows.values():
            row.due = row.due or row.status in ("pending", "failed")

    def pick(self, held: Held, place: int) -> tuple[Any, Any]:
        row = held.rows[place % len(held.rows)]
        return row, self.rows[row.pk]

    @invariant()
    def the_table_is_as_expected(self) -> None:
        found = {row.pk: row for row in self.policy.model.objects.all()}
        assert found.keys() == self.rows.keys()
        for pk, expected in self.rows.items():
            row = found[pk]
            assert (row.status, row.attempts, row.stale_recoveries) == (
                expected.status,
                expected.attempts,
                expected.recoveries,
            )
            assert (row.begun_at is not None) == expected.begun
            if expected.status == "failed":
                assert (row.next_retry_at is None) == expected.dead
            if expected.holder is not None:
                assert row.claim_token == expected.holder.token
            else:
                assert row.claim_token is None

    def teardown(self) -> None:
        for claim in holdings:
            claim.forget(*claim.rows)


class ParcelMachine(QueueMachine):
    """A claim is an attempt."""

    make_policy = staticmethod(parcel_policy)
    counts_on_claim = True


class LetterMachine(QueueMachine):
    """An attempt is counted when the work fails."""

    make_policy = staticmethod(letter_policy)
    counts_on_claim = False


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("machine", [ParcelMachine, LetterMachine])
def test_a_queue_does_what_the_model_says(machine):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=form(short=20, full=60),
            stateful_step_count=40,
            deadline=None,
            # To make a failure short takes minutes: ENGINEROOM_FULL=1 does it.
            phases=(Phase.generate, Phase.shrink) if FULL else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
