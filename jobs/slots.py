"""
Which slots run now, and what becomes of those that do not.

Pure: the caller reads the last accounted slot and the time from the database, and
writes the runs, the passed slots and the next due in one transaction.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import assert_never

from jobs.cadence import Cadence, grace
from jobs.cadence.periods import SHORTEST_GRACE
from jobs.errors import CadenceError

MOST_CATCH_UP_RUNS = 1000


@dataclasses.dataclass(frozen=True)
class Skip:
    """After downtime nothing is made up for; only a slot within its grace still runs."""


@dataclasses.dataclass(frozen=True)
class RunLatest:
    """After downtime the job runs once, for the latest slot (the default)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunAll:
    """After downtime the latest slots run, oldest first, at most this many (1 to 1000)."""

    at_most: int

    def __post_init__(self) -> None:
        """Refuse a maximum that is none."""
        if type(self.at_most) is not int or not 1 <= self.at_most <= MOST_CATCH_UP_RUNS:
            raise CadenceError("maximum of runs", self.at_most, f"write 1 to {MOST_CATCH_UP_RUNS}")


MissedPolicy = Skip | RunLatest | RunAll


class SlotTrigger(enum.StrEnum):
    """Why a slot runs."""

    SCHEDULE = "schedule"  # in time, or late by less than its grace
    CATCH_UP = "catch_up"  # made up for after downtime


class SlotFate(enum.StrEnum):
    """Why slots do not run."""

    MISSED = "missed"  # the policy makes up for nothing
    COALESCED = "coalesced"  # a later slot runs in their place


@dataclasses.dataclass(frozen=True, kw_only=True)
class DueSlot:
    """A slot to run now."""

    slot: dt.datetime
    trigger: SlotTrigger


@dataclasses.dataclass(frozen=True, kw_only=True)
class PassedSlots:
    """Slots that do not run: how many, from the first to the last, both included."""

    fate: SlotFate
    first: dt.datetime
    last: dt.datetime
    count: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SlotPlan:
    """What to do with every slot after the last accounted one and up to now."""

    runs: tuple[DueSlot, ...] = ()  # in the order of their slots
    passed: tuple[PassedSlots, ...] = ()  # all before the first run, in order
    accounted_until: dt.datetime  # the last slot of this plan, else the instant given
    next_due: dt.datetime | None  # None for a cadence without slots

    @property
    def slot_count(self) -> int:
        """Return how many slots the plan accounts for."""
        return len(self.runs) + sum(passed.count for passed in self.passed)


def plan_slots(
    cadence: Cadence,
    *,
    after: dt.datetime,
    now: dt.datetime,
    missed: MissedPolicy | None = None,
) -> SlotPlan:
    """
    Return what to do with every slot after ``after`` and up to ``now``.

    ``after`` is the last accounted slot, or the instant at which the job was declared,
    enabled or resumed: slots at or before it never run. A clock that went back yields
    no runs until it has passed ``after`` again. The policy is RunLatest unless given.
    """
    latest = cadence.latest_slots(after, now, limit=1)
    if not latest:
        return SlotPlan(accounted_until=after, next_due=cadence.next_after(after))
    policy = missed or RunLatest()
    to_run = _slots_to_run(cadence, after, now, policy)
    return SlotPlan(
        runs=tuple(_due(cadence, slot, now) for slot in to_run),
        passed=_passed(cadence, after, now, policy, to_run=to_run),
        accounted_until=latest[0],
        next_due=cadence.next_after(latest[0]),
    )


def _slots_to_run(
    cadence: Cadence, after: dt.datetime, now: dt.datetime, policy: MissedPolicy
) -> tuple[dt.datetime, ...]:
    match policy:
        case RunLatest():
            return cadence.latest_slots(after, now, limit=1)
        case RunAll(at_most=limit):
            return cadence.latest_slots(after, now, limit=limit)
        case Skip():
            latest = cadence.latest_slots(after, now, limit=1)
            return tuple(slot for slot in latest if _is_in_time(cadence, slot, now))
        case _:
            assert_never(policy)


def _due(cadence: Cadence, slot: dt.datetime, now: dt.datetime) -> DueSlot:
    in_time = _is_in_time(cadence, slot, now)
    return DueSlot(slot=slot, trigger=SlotTrigger.SCHEDULE if in_time else SlotTrigger.CATCH_UP)


def _is_in_time(cadence: Cadence, slot: dt.datetime, now: dt.datetime) -> bool:
    return now - slot < grace(cadence, slot)


def _passed(
    cadence: Cadence,
    after: dt.datetime,
    now: dt.datetime,
    policy: MissedPolicy,
    *,
    to_run: tuple[dt.datetime, ...],
) -> tuple[PassedSlots, ...]:
    until = to_run[0] - dt.timedelta.resolution if to_run else now
    if not isinstance(policy, Skip):
        return _entry(cadence, SlotFate.COALESCED, after, until)
    # Before the latest slot a whole period has passed, so half of it has too: there
    # the grace is its minimum, whatever the cadence.
    too_late = min(until, now - SHORTEST_GRACE)
    return _entry(cadence, SlotFate.MISSED, after, too_late) + _entry(
        cadence, SlotFate.COALESCED, max(after, too_late), until
    )


def _entry(
    cadence: Cadence, fate: SlotFate, after: dt.datetime, until: dt.datetime
) -> tuple[PassedSlots, ...]:
    last, count = cadence.latest_between(after, until)
    first = cadence.next_after(after)
    if last is None or first is None:
        return ()
    return (PassedSlots(fate=fate, first=first, last=last, count=count),)
