"""The audit: who pressed what, and why."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from jobs.clock import Now
from jobs.models import AuditLog
from jobs.reads.links import admin_url
from jobs.reads.paging import PAGE_LIMIT, Page, read_page


@dataclass(frozen=True, kw_only=True)
class AuditItem:
    """One action of an operator."""

    id: int
    at: dt.datetime
    actor: str
    actor_id: str
    via: str
    verb: str
    target: str
    reason: str
    detail: Any
    read_at: dt.datetime  # the database's time of this answer
    admin_url: str


def list_audit(
    *, target: str = "", limit: int = PAGE_LIMIT, before_id: int | None = None
) -> Page[AuditItem]:
    """Return actions, newest first; ``target`` is a table and a key, such as ``email_jobs 17``."""
    rows = audit_rows().filter(target=target) if target else audit_rows()
    return read_page(rows, audit_item, limit=limit, before_id=before_id)


def get_audit(entry_id: int) -> AuditItem | None:
    """Return one action; None when there is none of that id."""
    row = audit_rows().filter(pk=entry_id).first()
    return None if row is None else audit_item(row)


def audit_rows() -> QuerySet[AuditLog]:
    """Return the actions with the database's time."""
    return AuditLog.objects.annotate(read_at=Now())


def audit_item(row: Any) -> AuditItem:
    """Return a row of ``audit_rows`` as a value."""
    copied = (
        "id", "at", "actor", "actor_id", "via", "verb", "target", "reason", "detail", "read_at"
    )  # fmt: skip
    return AuditItem(
        **{name: getattr(row, name) for name in copied}, admin_url=admin_url(AuditLog, row.pk)
    )
