"""
Erasing what the queue knows of a person: the mail of a user, and mail to given addresses.

Ids, states, reply codes and times stay, as proof of what was done; addresses, subjects and
bodies go. Repeating it changes nothing more, and each batch commits on its own, so that it
can be stopped and begun again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from emails.addresses import normalise
from emails.statements import statement

BATCH = 500
# Mail is found by an address by reading the table in the order of its ids, so many rows at a time.
SCANNED_AT_ONCE = 5_000


@dataclass(frozen=True, kw_only=True)
class Erased:
    """What an erasure did."""

    cancelled: int  # mails that waited and will not be sent
    blanked: int  # mails of which only ids, codes and times are left
    in_progress: int  # held by a worker at the moment: repeat the erasure for these


def erase_user_mail(user_id: object, addresses: Iterable[str] = ()) -> Erased:
    """
    Cancel a user's waiting mail and blank all of it; return what was done.

    ``user_id`` is what was given to ``enqueue``; ``addresses`` are further ones, in any
    spelling, whose mail is found by reading the whole table in batches. Of a mail to several
    people of which one goes, only that recipient and what names it go, and the others still
    get it. Call it outside a transaction: each batch commits. Raises a ValueError for what is
    no address.
    """
    keys = sorted({normalise(address) for address in addresses})
    user = "" if user_id is None else str(user_id)
    cancelled = blanked = in_progress = 0
    if user:
        cancelled, blanked, in_progress = _in_batches("erase_by_user", BATCH, user_id=user)
    if keys:
        found = _in_batches("erase_by_address", SCANNED_AT_ONCE, keys=keys, user_id=user)
        cancelled, blanked = cancelled + found[0], blanked + found[1]
        in_progress += found[2]
    return Erased(cancelled=cancelled, blanked=blanked, in_progress=in_progress)


def _in_batches(name: str, limit: int, **parameters: Any) -> tuple[int, int, int]:
    totals = [0, 0, 0]
    after: int | None = 0
    while after is not None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement(name), {**parameters, "after": after, "limit": limit})
            row = cursor.fetchone()
        assert row is not None
        *counts, after = row
        totals = [total + (count or 0) for total, count in zip(totals, counts, strict=True)]
    return totals[0], totals[1], totals[2]
