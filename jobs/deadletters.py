"""
Dead letters: rows that will never be retried by themselves, per queue.

Every queue with a policy has them by its own terms. An app declares a queue here to set
another threshold, or to say in other words which rows they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from jobs.claims import ClaimPolicy
from jobs.declarations import JobDeclaration, registry

COUNT_CAP = 10_000


@dataclass(frozen=True, kw_only=True)
class DeadLetterQueue:
    """Which rows of a queue are dead letters, and how many of them are too many."""

    queue: str  # its table
    rows: Callable[[], QuerySet[Any]]  # exactly the dead letters
    threshold: int = 1  # an alert opens at so many
    job_id: str = ""  # the job that works the queue


@dataclass(frozen=True, kw_only=True)
class DeadLetterCount:
    """How many there are, up to 10,000."""

    value: int
    is_capped: bool


_declared: dict[str, DeadLetterQueue] = {}


def declare_dead_letters(queue: DeadLetterQueue) -> None:
    """Set how a queue's dead letters are counted; replaces what its policy says."""
    _declared[queue.queue] = queue


def withdraw_dead_letters(queue: str) -> None:
    """Take a queue's dead letters by its policy again."""
    _declared.pop(queue, None)


def dead_letter_queue(declaration: JobDeclaration) -> DeadLetterQueue | None:
    """Return the queue of a declared job; None when it has none. Raises what its policy raises."""
    if declaration.policy is None:
        return None
    policy = declaration.policy()
    return _declared.get(policy.queue) or _by_policy(policy, declaration.id)


def dead_letter_queues() -> list[DeadLetterQueue]:
    """Return the queues of all declared jobs, and those that apps declared besides, by name."""
    found = dict(_declared)
    for declaration in registry:
        queue = dead_letter_queue(declaration)
        if queue is not None:
            found[queue.queue] = queue
    return [found[name] for name in sorted(found)]


def declared_queues() -> list[DeadLetterQueue]:
    """Return only what apps declared."""
    return [_declared[name] for name in sorted(_declared)]


def dead_letters(policy: ClaimPolicy) -> QuerySet[Any]:
    """Return the rows that failed and have no due time: nothing takes them any more."""
    return policy.model._default_manager.using(policy.using).filter(
        Q(status=policy.dead_status, next_retry_at__isnull=True)
    )


def count_dead(queue: DeadLetterQueue, *, cap: int = COUNT_CAP) -> DeadLetterCount:
    """Count dead letters up to a cap: beyond it the exact number helps nobody."""
    # The order keeps the planner on the partial index of failed rows.
    found = queue.rows().order_by("-pk").values("pk")[: cap + 1].count()
    return DeadLetterCount(value=min(found, cap), is_capped=found > cap)


def _by_policy(policy: ClaimPolicy, job_id: str) -> DeadLetterQueue:
    return DeadLetterQueue(queue=policy.queue, rows=lambda: dead_letters(policy), job_id=job_id)
