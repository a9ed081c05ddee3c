"""Dead letters: per queue how many, since when, and why."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, QuerySet
from django.db.models.functions import Left

from jobs.deadletters import DeadLetterQueue, count_dead, dead_letter_queues
from jobs.reads.links import list_path, site_url
from jobs.schedule import database_now

REASONS = 3
LOOKED_THROUGH = 1000
HEAD_LENGTH = 300
# What differs between two failures of one kind: addresses, keys, numbers.
_VARYING = re.compile(
    r"(?P<address>[^\s<>@\"',;:]+@[^\s<>@\"',;:]+)"
    r"|(?P<number>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\d+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class DeadLetterReason:
    """One kind of failure, of the newest 1,000 dead letters of a queue."""

    text: str  # the first line of the error, without what varies
    count: int


@dataclass(frozen=True, kw_only=True)
class DeadLetterItem:
    """The dead letters of one queue."""

    id: str  # its table
    job_id: str
    count: int
    is_capped: bool  # there are more
    threshold: int  # an alert opens at so many
    oldest_at: dt.datetime | None  # when the first of them was queued
    reasons: tuple[DeadLetterReason, ...]
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str  # the list of exactly these rows; empty without a page


@dataclass(frozen=True, kw_only=True)
class DeadLetters:
    """All queues, by name, those without dead letters too."""

    items: tuple[DeadLetterItem, ...]
    next_before_id: None = None  # there is only one page


def list_dead_letters() -> DeadLetters:
    """Return a line per queue of every declared job."""
    now = database_now()
    return DeadLetters(items=tuple(dead_letter_item(queue, now) for queue in dead_letter_queues()))


def dead_letter_item(queue: DeadLetterQueue, now: dt.datetime) -> DeadLetterItem:
    """Return what is known of a queue's dead letters."""
    rows = queue.rows()
    count = count_dead(queue)
    return DeadLetterItem(
        id=queue.queue,
        job_id=queue.job_id,
        count=count.value,
        is_capped=count.is_capped,
        threshold=queue.threshold,
        oldest_at=_oldest(rows) if count.value else None,
        reasons=top_reasons(_errors(rows)) if count.value else (),
        read_at=now,
        admin_url=_url(rows.model),
    )


def top_reasons(errors: Iterable[str]) -> tuple[DeadLetterReason, ...]:
    """Return the three most frequent kinds of failure. A pure function."""
    counted = Counter(reason_of(error) for error in errors)
    ranked = sorted(counted.items(), key=lambda found: (-found[1], found[0]))
    return tuple(DeadLetterReason(text=text, count=count) for text, count in ranked[:REASONS])


def reason_of(error: str) -> str:
    """Return the first line of an error without addresses, keys and numbers."""
    head = error.strip().partition("\n")[0]
    return _VARYING.sub(lambda found: "<address>" if found["address"] else "#", head).strip()


def _oldest(rows: QuerySet[Any]) -> dt.datetime | None:
    if not _has(rows.model, "created_at"):
        return None
    found: dt.datetime | None = rows.order_by("pk").values_list("created_at", flat=True).first()
    return found


def _errors(rows: QuerySet[Any]) -> list[str]:
    if not _has(rows.model, "last_error"):
        return []
    heads = rows.order_by("-pk").annotate(error_start=Left("last_error", HEAD_LENGTH))
    return list(heads.values_list("error_start", flat=True)[:LOOKED_THROUGH])


def _has(model: type[Model], name: str) -> bool:
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return True


def _url(model: type[Model]) -> str:
    # By convention the list of a queue has the filter status=dead.
    path = list_path(model, status="dead")
    return f"{site_url()}{path}" if path else ""
