"""Writing the audit: one row per action, in the action's own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction

from jobs.failure import storable
from jobs.models.audit import AuditLog, Via
from jobs.redaction import mask_secrets

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A row that an action left alone."""

    id: int
    why: str  # "is sent", "is cancelled"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an action on rows did. Nothing changed: it was done before, or not possible."""

    changed: tuple[int, ...]
    refused: tuple[Refusal, ...] = ()


# The actor of a command that names no user.
SYSTEM = "system"
NAME_LENGTH = 200


def record(
    *,
    actor: AbstractBaseUser | None,
    via: Via,
    verb: str,
    target: str,
    reason: str = "",
    detail: Mapping[str, Any] | None = None,
) -> AuditLog:
    """
    Write one row of ``audit_log``: who did what to what, and why.

    Call it inside the transaction of the action, so that neither is without the other.
    ``target`` is a table, or a table and a key, such as ``email_jobs 17``. The actor is
    stored as text, so that erasing a user keeps the audit. Raises
    ``TransactionManagementError`` outside a transaction.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError(
            f"The audit of {verb} {target} needs the transaction of its action: "
            "call record() inside transaction.atomic()."
        )
    return AuditLog.objects.create(
        actor=storable(_name(actor))[:NAME_LENGTH],
        actor_id="" if actor is None else str(actor.pk)[:NAME_LENGTH],
        via=via,
        verb=verb,
        target=target,
        reason=storable(mask_secrets(reason)),
        detail=dict(detail or {}),
    )


def _name(actor: AbstractBaseUser | None) -> str:
    return SYSTEM if actor is None else actor.get_username()
