"""
Steps: what the project lists in ``USER_DELETION_STEPS``, each a small class.

A step is idempotent. Its ``run`` returns None when it is done ("already gone" is done too),
``jobs.workers.queue_pass.Waiting`` when it must wait, ``Skipped`` when there is nothing to do
here, and raises when it failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from django.contrib.auth import get_user_model
from django.utils.module_loading import import_string

from deletions import conf
from deletions.errors import MissingStepError, StepImportError
from deletions.models import Half, UserDeletionStep
from jobs.workers.queue_pass import Waiting

HALVES = tuple(Half.values)


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """There is nothing to do here: the reason says why."""

    reason: str


Answer = Waiting | Skipped | None


@dataclass(kw_only=True)
class StepCall:
    """One try of a step: whom it is about, and ways to say how it goes."""

    deletion_id: int
    user_id: str
    snapshot: Mapping[str, Any]  # what was copied at the request
    idempotency_key: str  # the same for every try of this step
    tries: int  # this one included
    should_stop: Callable[[], bool] = lambda: False  # a shutdown: return ``Waiting`` soon
    # Rows done and their total, None when unknown; raises when the claim was lost.
    progress: Callable[[int, int | None], None] = lambda _done, _total: None
    rows_deleted: int = 0  # by earlier tries
    detail: str = field(default="", init=False)

    def say(self, detail: str) -> None:
        """Set what operators read beside the step."""
        self.detail = detail

    @property
    def user(self) -> Any:
        """The user as the database has it now; None when the row is gone."""
        users = get_user_model()
        return users._base_manager.filter(pk=users._meta.pk.to_python(self.user_id)).first()


@runtime_checkable
class Step(Protocol):
    """What a step has. ``blocking = False`` on an external one lets rows here go before it."""

    name: str  # kept in the step's row; never changed
    half: str  # access, external or local
    left_behind: str  # in words what is still there while it is not done

    def run(self, call: StepCall) -> Answer:
        """Do it, or find it done."""


class MissingStep:
    """Stands for a step that a row names and that the setting does not list any more."""

    def __init__(self, row: UserDeletionStep) -> None:
        self.name, self.half, self.left_behind = row.name, row.half, row.left_behind

    def run(self, call: StepCall) -> Answer:
        """Fail: to skip it would be to leave behind what it stands for."""
        raise MissingStepError(self.name)


def load_steps() -> tuple[Step, ...]:
    """Return the steps of the setting by half. Raises ``StepImportError``."""
    steps = [_load(path) for path in conf.step_paths()]
    names = [step.name for step in steps]
    for path, step in zip(conf.step_paths(), steps, strict=True):
        if names.count(step.name) > 1:
            raise StepImportError(path, f"another step is named {step.name!r} as well")
    return tuple(sorted(steps, key=lambda step: HALVES.index(step.half)))


def is_blocking(step: Step) -> bool:
    """Say whether the local half waits for this step."""
    return step.half == Half.ACCESS or bool(getattr(step, "blocking", True))


def add_missing_rows(deletion_id: int, steps: tuple[Step, ...]) -> None:
    """Write a row for each step that has none yet."""
    known = set(
        UserDeletionStep.objects.filter(deletion_id=deletion_id).values_list("name", flat=True)
    )
    UserDeletionStep.objects.bulk_create(
        [
            UserDeletionStep(
                deletion_id=deletion_id,
                name=step.name,
                half=step.half,
                position=place,
                left_behind=step.left_behind,
                # Not of the ids alone: a restored backup gives them out a second time.
                idempotency_key=f"deletion-{deletion_id}-{step.name}-{uuid.uuid4().hex}"[:200],
            )
            for place, step in enumerate(steps)
            if step.name not in known
        ],
        ignore_conflicts=True,
    )


def _load(path: str) -> Step:
    try:
        step = import_string(path)()
    except (ImportError, TypeError) as error:
        raise StepImportError(path, str(error)) from None
    problem = _problem(step)
    if problem:
        raise StepImportError(path, problem)
    assert isinstance(step, Step)
    return step


def _problem(step: object) -> str:
    if not isinstance(step, Step):
        return "it needs name, half, left_behind and run(call)"
    if step.half not in HALVES:
        return f"half={step.half!r} is not one of {', '.join(HALVES)}"
    if not 0 < len(step.name) <= 100 or not 0 < len(step.left_behind) <= 200:
        return "name is a text of 1 to 100 characters, left_behind of 1 to 200"
    return ""
