"""The states of deletions, their steps, buckets and phases as shapes and words."""

from __future__ import annotations

from collections.abc import Mapping

from deletions.models import DeletionStatus, StepState
from deletions.standing import DEAD, LOST, RETRYING
from jobs.markup import State

DELETION_STATES: Mapping[str, State] = {
    DeletionStatus.PENDING: State(shape="○", tone="quiet", word="pending"),
    DeletionStatus.PROCESSING: State(shape="◐", tone="busy", word="processing"),
    RETRYING: State(shape="▲", tone="warn", word="retrying"),
    LOST: State(shape="■", tone="bad", word="lost by its worker"),
    DEAD: State(shape="■", tone="bad", word="abandoned"),
    DeletionStatus.DONE: State(shape="●", tone="good", word="done"),
    DeletionStatus.CANCELLED: State(shape="—", tone="quiet", word="cancelled"),
}
STEP_STATES: Mapping[str, State] = {
    StepState.TODO: State(shape="○", tone="quiet", word="to do"),
    "waiting": State(shape="◐", tone="busy", word="waiting"),
    StepState.DONE: State(shape="●", tone="good", word="done"),
    StepState.FAILED: State(shape="■", tone="bad", word="failed"),
    StepState.SKIPPED: State(shape="—", tone="quiet", word="skipped"),
}
PHASE_STATES: Mapping[str, State] = {
    "done": State(shape="●", tone="good", word="done"),
    "current": State(shape="◐", tone="busy", word="at it"),
    "halted": State(shape="▲", tone="warn", word="not finished"),
    "todo": State(shape="○", tone="quiet", word="to come"),
}
