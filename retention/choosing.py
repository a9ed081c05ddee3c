"""Which targets a command means, by their names."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from jobs.pruning import targets
from retention.errors import KeptForEverError, UnknownTargetError
from retention.sessions import all_expired
from retention.sweep import Ageing, configured_targets, expired_rows

SWEEP, SESSIONS = "retention.sweep", "retention.sessions"


def choose(names: Sequence[str]) -> Mapping[str, list[Ageing]]:
    """
    Return what is meant by job: without names all that the daily sweep is configured for.

    Names may be of the hourly clean-up too. Raises ``UnknownTargetError``, which names the
    nearest, and ``KeptForEverError`` for a target without days.
    """
    by_job = {SWEEP: configured_targets(), SESSIONS: expired_rows(all_expired())}
    if not names:
        return {SWEEP: by_job[SWEEP]}
    _refuse(names, by_job)
    chosen = {
        job: [item for item in items if item.prunable.name in names]
        for job, items in by_job.items()
    }
    return {job: items for job, items in chosen.items() if items}


def _refuse(names: Sequence[str], by_job: Mapping[str, list[Ageing]]) -> None:
    swept = {item.prunable.name for items in by_job.values() for item in items}
    known = sorted(swept | {target.name for target in targets})
    for name in names:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            raise UnknownTargetError(name, known, nearest[0] if nearest else None)
        if name not in swept:
            raise KeptForEverError(name)
