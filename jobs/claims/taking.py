"""Taking rows: the claim statement sent, and what is made of its answer."""

from __future__ import annotations

import contextlib
import time
import uuid
from operator import itemgetter
from typing import Any

from django.db import DatabaseError, InterfaceError, connections

from jobs.claims.claim import Claim
from jobs.claims.holdings import suspect_gate
from jobs.claims.limit import claim_guard
from jobs.claims.ordering import FLOOR
from jobs.claims.pace import Watermark
from jobs.claims.policy import ClaimPolicy
from jobs.claims.statement import AFTER, WORKER, ClaimForm, claim_statement
from jobs.claims.writes import TOKEN
from jobs.identity import process_name
from jobs.statements import Rows, Variable, send_planned
from jobs.transactions import fetch_shortly, run_shortly


def claim_rows(policy: ClaimPolicy, *, limit: int | None = None) -> Claim | None:
    """
    Claim up to ``limit`` due rows (the policy's batch by default), or one suspect alone.

    Returns None when nothing is due. Commits before it returns.
    """
    limit = min(limit or policy.batch, policy.batch)
    if policy.pace.is_quick:
        claim = ClaimAttempt(policy, _quick_form(policy, limit)).make()
        if claim is not None:
            return claim
    return _look_at_all(policy, limit)


def complete_and_claim(claim: Claim) -> tuple[int, Claim | None]:
    """
    Complete what the claim still holds and claim the next rows, in one commit if it can be.

    Returns how many rows were completed, and the next claim. None does not say that nothing
    is due, only ``claim_rows`` does.
    """
    policy = claim.policy
    is_simple = not claim.suspect and policy.most_in_work is None
    if claim.held and is_simple and policy.pace.is_quick:
        # Neither is done when it fails; then one after the other, as long as it takes.
        with contextlib.suppress(DatabaseError, InterfaceError):
            return _complete_and_look_on(claim)
    done = claim.complete(*claim.held.values()) if claim.held else 0
    return done, None


class ClaimAttempt:
    """One claim statement on its way, and what is made of its answer."""

    def __init__(self, policy: ClaimPolicy, form: ClaimForm) -> None:
        self.policy = policy
        self.form = form
        self._token = uuid.uuid4()
        self._began = time.monotonic()
        connection = connections[policy.using]
        connection.ensure_connection()
        self._compiled = claim_statement(policy, form)
        known: dict[Variable, Any] = {TOKEN: self._token, WORKER: process_name(), FLOOR: 0}
        after = policy.pace.after
        if form.onward and after is not None:
            known |= {FLOOR: after.floor, **dict(zip(AFTER, after.place, strict=False))}
        self._known = known

    @property
    def statement(self) -> str:
        """The complete statement."""
        return self._compiled.template.fill(self._known, connections[self.policy.using])

    def make(self) -> Claim | None:
        """
        Send the statement and return the claim.

        Where each row is begun by a fenced and durable write of its own before it is worked
        on, the claim need not be flushed: that write flushes it, or finds it gone.
        """
        if not self.form.fresh:
            return self.claim_of(self._send(self.statement))
        connection = connections[self.policy.using]
        template = self._compiled.template
        return self.claim_of(send_planned(self._send, template, self._known, connection))

    def _send(self, statement: str) -> Rows:
        is_durable = self.policy.whole_claims and self.policy.durable_claims
        guard = claim_guard(self.policy)
        return fetch_shortly(self.policy.using, *guard, statement, is_durable=is_durable)

    def claim_of(self, found: Rows) -> Claim | None:
        """Return the rows as a claim, and note where the next one may begin."""
        self._keep_pace(found)
        if not found:
            return None
        # RETURNING has no order: hand the rows on in the queue's own.
        found.sort(key=itemgetter(-2))
        suspect = found[0][-1] == "suspect"
        known = {
            name: self._known[value] if isinstance(value, Variable) else value
            for name, value in self._compiled.known.items()
        }
        rows = self._compiled.hydration.rows(found, known=known)
        return Claim(self.policy, self._token, rows, suspect=suspect, claimed=self._began)

    def _keep_pace(self, found: Rows) -> None:
        full = len(found) >= self.form.limit
        last = self._watermark(found) if full else None
        if self.form.quick:
            self.policy.pace.quick_look(full=full, last=last)
        else:
            seconds = time.monotonic() - self._began
            self.policy.pace.whole_look(seconds=seconds, full=full, last=last)

    def _watermark(self, found: Rows) -> Watermark | None:
        places = self._compiled.order_places
        if not places or any(row[-1] != "pending" for row in found):
            return None
        last = max(tuple(row[place] for place in places) for row in found)
        floor = found[0][-3] - 1 if self.policy.order_key is not None else 0
        return Watermark(place=last, floor=floor)


def _quick_form(policy: ClaimPolicy, limit: int) -> ClaimForm:
    pace = policy.pace
    return ClaimForm(limit=limit, quick=True, fresh=pace.is_rested, onward=pace.after is not None)


def _look_at_all(policy: ClaimPolicy, limit: int) -> Claim | None:
    with_suspects = suspect_gate.try_enter()
    claim = None
    try:
        claim = ClaimAttempt(policy, ClaimForm(limit=limit, with_suspects=with_suspects)).make()
    finally:
        if with_suspects and not (claim and claim.suspect):
            suspect_gate.leave()
    return claim


def _complete_and_look_on(claim: Claim) -> tuple[int, Claim | None]:
    policy = claim.policy
    with claim.completion() as completion:
        attempt = ClaimAttempt(policy, _quick_form(policy, policy.batch))
        changed, found = run_shortly(policy.using, completion.statement, attempt.statement)
        completion.changed = {row_id for (row_id,) in changed}
    return len(completion.changed), attempt.claim_of(found)
