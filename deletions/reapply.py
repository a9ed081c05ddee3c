"""Doing deletions again that a restored backup does not know of."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import transaction

from deletions.models import UserDeletion
from deletions.proof import Proof
from deletions.requests import live_of, request
from jobs.audit import record
from jobs.models.audit import Via
from jobs.reads.links import admin_url
from jobs.verbs import Actor
from jobs.verbs.actors import as_user

REASON = "deleted on {:%Y-%m-%d %H:%M:%S} UTC, and back from a restored backup"


class Reapplied(enum.Enum):
    """What becomes of a line of the file."""

    QUEUED = "queued"
    GONE = "gone"  # the database does not have the user
    LIVE = "live"  # a deletion of the user is under way, or was abandoned
    ANOTHER = "another"  # the key was given to somebody else since


@dataclass(frozen=True, kw_only=True)
class ReapplyItem:
    """One deletion of the file, and what becomes of it here."""

    user_id: str
    deleted_at: dt.datetime
    result: str
    words: str
    id: int | None  # the deletion here, if there is one
    admin_url: str


def reapply(
    proofs: Iterable[Proof], *, actor: Actor, dry_run: bool = False
) -> tuple[ReapplyItem, ...]:
    """
    Queue the deletions of users whom the database has again; the worker carries them out.

    A user who was created after the deletion is somebody else, who got the same key.
    """
    return tuple(_reapply(proof, actor=actor, dry_run=dry_run) for proof in proofs)


def _reapply(proof: Proof, *, actor: Actor, dry_run: bool) -> ReapplyItem:
    user = _find(proof.user_id)
    if user is None:
        return _item(proof, Reapplied.GONE, "is not in the database")
    if _joined_after(user, proof.deleted_at):
        return _item(proof, Reapplied.ANOTHER, "is somebody else, who came after that deletion")
    live = live_of(user.pk)
    if live is not None:
        return _item(proof, Reapplied.LIVE, f"has a deletion that is {live.status}", live)
    if dry_run:
        return _item(proof, Reapplied.QUEUED, "would be deleted again")
    with transaction.atomic():
        deletion = request(
            user, requested_by=actor.get_username(), reason=REASON.format(proof.deleted_at)
        )
        record(
            actor=as_user(actor),
            via=Via.COMMAND,
            verb="reapply",
            target=f"{UserDeletion._meta.db_table} {deletion.pk}",
            reason=deletion.reason,
        )
    return _item(proof, Reapplied.QUEUED, "will be deleted again", deletion)


def _find(key: str) -> Any:
    users = get_user_model()
    try:
        return users._base_manager.filter(pk=users._meta.pk.to_python(key)).first()
    except ValidationError:  # a key of another kind of user
        return None


def _joined_after(user: Any, deleted_at: dt.datetime) -> bool:
    try:
        user._meta.get_field("date_joined")
    except FieldDoesNotExist:
        return False
    return bool(user.date_joined and user.date_joined > deleted_at)


def _item(
    proof: Proof, result: Reapplied, words: str, deletion: UserDeletion | None = None
) -> ReapplyItem:
    return ReapplyItem(
        user_id=proof.user_id,
        deleted_at=proof.deleted_at,
        result=result.value,
        words=words,
        id=None if deletion is None else deletion.pk,
        admin_url="" if deletion is None else admin_url(UserDeletion, deletion.pk),
    )
