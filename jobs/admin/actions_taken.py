"""What operators did to a row, as the section of its page shows it."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from jobs.models import AuditLog
from jobs.reads.audit import list_audit
from jobs.reads.links import list_path
from jobs.verbs.targets import row_target

SHOWN = 20


def actions_taken(model: type[Model], key: object) -> dict[str, Any]:
    """Return what ``jobs/admin/actions_taken.html`` needs: the newest, and where all are."""
    target = row_target(model, key)
    return {
        "actions_taken": list_audit(target=target, limit=SHOWN).items,
        "actions_path": list_path(AuditLog, q=f"target:{target}"),
    }
