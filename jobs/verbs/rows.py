"""What the verbs on a queue's rows share: which are meant, what is left alone, the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import Model, QuerySet

from jobs.audit import Refusal, record
from jobs.models.audit import Via
from jobs.verbs.targets import row_target

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

# What the audit and a caller are told of; beyond it the number is enough.
IDS_KEPT = 1000


def ids_of(rows: Iterable[int] | QuerySet[Any]) -> list[int]:
    """Return the keys of rows, or of a queryset, in order and each once."""
    found = rows.values_list("pk", flat=True) if isinstance(rows, QuerySet) else rows
    return sorted(set(found))


def refusals(
    ids: Iterable[int], *, rows: QuerySet[Any], why: Callable[[Any], str]
) -> tuple[Refusal, ...]:
    """Return why rows are left alone, by id; ``rows`` are all that there are."""
    wanted = sorted(ids)[:IDS_KEPT]
    known = {row.pk: why(row) for row in rows.filter(pk__in=wanted)}
    return tuple(Refusal(id=key, why=known.get(key, "does not exist")) for key in wanted)


def record_rows(
    model: type[Model],
    changed: Sequence[int],
    *,
    verb: str,
    actor: AbstractBaseUser | None,
    via: Via,
    reason: str,
) -> None:
    """Write what a verb changed into the audit, in the transaction of the change."""
    if not changed:
        return
    target = row_target(model, changed[0]) if len(changed) == 1 else model._meta.db_table
    detail = {"count": len(changed), "ids": list(changed[:IDS_KEPT]), "up_to": changed[-1]}
    record(actor=actor, via=via, verb=verb, target=target, reason=reason, detail=detail)
