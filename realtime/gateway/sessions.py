"""The rows of ``realtime_sessions``: who is connected to this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from realtime.gateway.identity import Identity, user_of
from realtime.gateway.reading import KEPT
from realtime.models import RealtimeSession
from realtime.statements import statement

SECONDS = 90.0
RENEW_SECONDS = 30.0
BATCH = 1000
MOST_BATCHES = 20


def write(sid: str, *, user_key: str, topics: Sequence[str], process_id: str) -> None:
    """Record a socket with all of its topics; committed when this returns."""
    values: dict[str, Any] = {
        "sid": sid,
        "user_key": user_key,
        "topics": list(topics),
        "process_id": process_id,
        "seconds": SECONDS,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement("session_write"), values)


def renew(sids: Sequence[str]) -> set[str]:
    """Move the expiry of these sockets forward; return those that had not expired."""
    with connection.cursor() as cursor:
        cursor.execute(statement("session_renew"), {"sids": list(sids), "seconds": SECONDS})
        return {sid for (sid,) in cursor.fetchall()}


def forget(sids: Sequence[str]) -> None:
    """Remove the rows of sockets that are closed."""
    RealtimeSession.objects.filter(sid__in=sids).delete()


def forget_process(process_id: str) -> None:
    """Remove what a process leaves behind."""
    RealtimeSession.objects.filter(process_id=process_id).delete()


def ended(identities: Sequence[Identity]) -> set[Identity]:
    """Return those that sign nobody in any more."""
    return {identity for identity in set(identities) if user_of(identity) is None}


def prune() -> dict[str, int]:
    """Remove old messages of the bus and expired sessions; return how many of each."""
    return {
        "bus": _prune("prune_bus", seconds=KEPT.total_seconds()),
        "sessions": _prune("prune_sessions"),
    }


def _prune(name: str, **values: float) -> int:
    removed = 0
    for _ in range(MOST_BATCHES):
        with connection.cursor() as cursor:
            cursor.execute(statement(name), {"batch": BATCH, **values})
            removed += cursor.rowcount
            if cursor.rowcount < BATCH:
                break
    return removed
