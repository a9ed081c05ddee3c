"""A run: one pass over each of several targets, whatever becomes of the others."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from jobs.context import RunContext
from jobs.failure import headline
from jobs.pruning import ExpiredRows, Prunable, targets
from jobs.schedule import database_now
from retention.budget import Budget
from retention.errors import TargetsFailedError
from retention.models import TargetConfig
from retention.statements import DueRows
from retention.sweeping import Swept, TargetSweep

logger = logging.getLogger(__name__)
Summary = dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Ageing:
    """Rows, and how old they must be to go."""

    prunable: Prunable
    age: Callable[[], dt.timedelta]

    def due(self, now: dt.datetime) -> DueRows:
        """Return what is due as of now; raises what the declaration's own functions raise."""
        return DueRows(
            prunable=self.prunable,
            condition=self.prunable.condition(),
            cutoff=now - self.age(),
        )


def configured_targets() -> list[Ageing]:
    """Return the declared targets that an operator gave a number of days, children first."""
    rows = TargetConfig.objects.filter(enabled=True, days__isnull=False)
    ages = {row.name: dt.timedelta(days=row.days or 0) for row in rows}
    return [
        Ageing(prunable=target, age=partial(ages.__getitem__, target.name))
        for target in targets
        if target.name in ages
    ]


def expired_rows(declared: Iterable[ExpiredRows]) -> list[Ageing]:
    """Return declared rows with what their age must be by their own account."""
    return [Ageing(prunable=rows, age=rows.after) for rows in declared]


def sweep(
    context: RunContext, ageing: Sequence[Ageing], *, begun: Summary | None = None
) -> Summary:
    """
    Sweep each in turn; return an entry for every one of them, reached or not.

    The database's clock is read once, so that all of a run has one cutoff. ``begun`` is what the
    summary holds already. Raises ``TargetsFailedError``, which carries the summary, when one had
    an error.
    """
    budget = Budget.of(context)
    now = database_now()
    summary = dict(begun or {})
    for place, item in enumerate(ageing):
        context.progress(place, len(ageing))
        context.checkpoint()
        summary[item.prunable.name] = _sweep_one(item, now, budget).entry()
    context.progress(len(ageing), len(ageing))
    if any("error" in entry for entry in summary.values()):
        raise TargetsFailedError(summary)
    return summary


def _sweep_one(item: Ageing, now: dt.datetime, budget: Budget) -> Swept:
    name = item.prunable.name
    try:
        due = item.due(now)
    except Exception as error:  # noqa: BLE001 (the project's own functions say what is due)
        logger.error("sweep_failed target=%s error=%s", name, headline(error))  # noqa: TRY400
        return Swept(error=headline(error))
    swept = TargetSweep(due, budget).run()
    if swept.deleted:
        logger.info("swept target=%s deleted=%s batches=%s", name, swept.deleted, swept.batches)
    return swept
