"""Time ranges that reach back from the database's now."""

from __future__ import annotations

import datetime as dt
from typing import TypeVar

from django.db.models import Model, QuerySet

from jobs.clock import ago

Row = TypeVar("Row", bound=Model)

RANGES = {
    "15m": dt.timedelta(minutes=15),
    "1h": dt.timedelta(hours=1),
    "24h": dt.timedelta(hours=24),
    "7d": dt.timedelta(days=7),
}


def since_filter(rows: QuerySet[Row], column: str, since: dt.timedelta | None) -> QuerySet[Row]:
    """Keep the rows whose time is within the range; None keeps all."""
    if since is None:
        return rows
    return rows.filter(**{f"{column}__gte": ago(since.total_seconds() * 1000)})
