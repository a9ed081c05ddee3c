"""What tests of the rules share: facts about jobs."""

from __future__ import annotations

import datetime as dt

from jobs.alerts.facts import JobFacts, RunFacts
from jobs.cadence import Cron, Every

NOW = dt.datetime(2026, 3, 10, 12, 0, tzinfo=dt.UTC)
HOURLY = Cron("0 * * * *")
LONG_AGO = NOW - dt.timedelta(days=3)


def minutes_ago(minutes: float) -> dt.datetime:
    return NOW - dt.timedelta(minutes=minutes)


def ended(*statuses: str, first_minutes_ago: float = 5) -> tuple[RunFacts, ...]:
    """Return scheduled runs, newest first, an hour apart."""
    runs = []
    for place, status in enumerate(statuses):
        at = minutes_ago(first_minutes_ago + 60 * place)
        runs.append(RunFacts(id=100 - place, status=status, slot=at, started_at=at, finished_at=at))
    return tuple(runs)


def hourly_job(**fields) -> JobFacts:
    known = {"id": "shop.orders", "cadence": HOURLY, "first_seen_at": LONG_AGO}
    return JobFacts(**(known | fields))


def polled_job(**fields) -> JobFacts:
    known = {
        "id": "shop.mail",
        "cadence": Every(seconds=30),
        "singleton": False,
        "first_seen_at": LONG_AGO,
    }
    return JobFacts(**(known | fields))
