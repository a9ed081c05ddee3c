"""Who may read a row, and on which sockets they are."""

from __future__ import annotations

import datetime as dt
import json
import logging
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.models import Model

from realtime.audience import Mode
from realtime.declarations import ModelDeclaration, Sight
from realtime.errors import PublishError
from realtime.outbox import USING
from realtime.statements import statement

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Captured:
    """The sockets of some users on a topic, at one instant."""

    at: dt.datetime  # the database's
    sids: Mapping[str, list[str]]  # by user

    def audience(self, readers: Iterable[str]) -> dict[str, Any]:
        """Return the audience of these users' sockets."""
        names = sorted(readers)
        return {
            "mode": Mode.RESTRICTED.value,
            "sids": [sid for name in names for sid in self.sids.get(name, ())],
            # Who of them subscribes between this and the delivery is told to read anew.
            "readers": names,
            "captured_at": self.at.isoformat(),
        }


def capture(topic: str, users: Iterable[Any]) -> dict[str, Any]:
    """
    Return the audience of those users' sockets that are on the topic now.

    For a restricted delete by hand: called in the deleting transaction, before the delete.
    ``users`` are users, a queryset of them, or keys.
    """
    readers = {reader_key(user) for user in users}
    return captured(topic, readers).audience(readers)


def captured(topic: str, readers: Iterable[str]) -> Captured:
    """Return the sockets on a topic of users given by their keys."""
    with connections[USING].cursor() as cursor:
        values: dict[str, Any] = {"topic": topic, "users": sorted(readers)}
        cursor.execute(statement("sessions_of_readers"), values)
        at, sids = cursor.fetchone()
    return Captured(at=at, sids=json.loads(sids) if isinstance(sids, str) else sids)


def readers_of(declaration: ModelDeclaration, row: Model) -> frozenset[str]:
    """
    Return the keys of those whom the read rule admits to a row as the database has it.

    A rule that raises admits nobody; the change goes on, in a transaction that is whole.
    """
    rule = declaration.readers
    if isinstance(rule, Sight):
        return frozenset()
    try:
        with transaction.atomic(using=USING):
            return frozenset(reader_key(reader) for reader in rule(row))
    except Exception:
        logger.exception("read_rule_failed model=%s id=%s", row._meta.label, row.pk)
        return frozenset()


def reader_key(reader: Any) -> str:
    """Return the key of a reader as text. Raises PublishError for what is neither."""
    match reader:
        case Model():
            return str(reader.pk)
        case str() | int() | uuid.UUID() if not isinstance(reader, bool) and reader != "":
            return str(reader)
    raise PublishError("reader", reader, "a reader is a user, or a user's key")
