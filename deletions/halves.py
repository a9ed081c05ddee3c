"""The halves of a deletion in words. Pure functions over its steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deletions.models import Half, StepState, UserDeletionStep

NOTHING_LEFT = "nothing"
WAITING = "waiting"


@dataclass(frozen=True, kw_only=True)
class HalfItem:
    """One half: how it is as a whole, and in words."""

    state: str  # todo, done, failed or skipped
    words: str  # "done", or "billing failed, buckets waiting"


def half_of(steps: Iterable[UserDeletionStep], half: Half) -> HalfItem:
    """Return how a half is. One without steps is skipped."""
    mine = [step for step in steps if step.half == half]
    states = {step.state for step in mine}
    # Of the others nothing is to be said: there was nothing to do, such as no bucket.
    told = [step for step in mine if step.state != StepState.SKIPPED]
    words = {step_words(step) for step in told}
    return HalfItem(
        state=_whole(states),
        words=", ".join(f"{step.name} {step_words(step)}" for step in told)
        if len(words) > 1 or words & {StepState.FAILED.value, WAITING}
        else next(iter(words), StepState.SKIPPED.value),
    )


def step_words(step: UserDeletionStep) -> str:
    """Return the state of a step, waiting told from to do."""
    if step.state == StepState.TODO and step.waiting_since is not None:
        return WAITING
    return str(step.state)


def left_behind(steps: Iterable[UserDeletionStep]) -> str:
    """Return in words what is still there."""
    left = [step.left_behind for step in steps if not step.is_settled]
    return "; ".join(left) or NOTHING_LEFT


def halves_line(steps: Sequence[UserDeletionStep]) -> str:
    """Return all halves as a line of a log or an answer has them."""
    return " ".join(f"{half}={half_of(steps, half).words!r}" for half in Half)


def _whole(states: set[str]) -> str:
    for state in (StepState.FAILED, StepState.TODO, StepState.DONE):
        if state in states:
            return state.value
    return StepState.SKIPPED.value
