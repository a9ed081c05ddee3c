"""The jobs of a shop: declared for pictures and tests of pages, with a believable history."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from itertools import pairwise

from django.utils import timezone

from jobs.cadence import Cadence, Cron, Every, Manual
from jobs.context import RunContext
from jobs.declarations import job, registry
from tests.factories import AlertFactory, AuditLogFactory, JobRunFactory, JobStateFactory

NIGHTLY = Cron("0 2 * * *", zone="Europe/Berlin")
QUARTERS = Cron("*/15 * * * *", zone="UTC")
SIX_HOURS = Cron("0 */6 * * *", zone="UTC")
WEEKLY = Cron("30 2 * * sun", zone="Europe/Berlin")
MAIL_PAGE = "admin:emails_emailjob_changelist"
ERROR = """StockError: the warehouse answered 503
  File "shop/stock.py", line 31, in update_stock
    levels = warehouse.levels(timeout=20)
  File "shop/warehouse.py", line 88, in levels
    raise StockError(f"the warehouse answered {reply.status}")
"""


@contextlib.contextmanager
def declared() -> Iterator[None]:
    """Declare the shop's jobs, and only those beside the engine's own and the mail's."""
    before = {declaration.id: declaration for declaration in registry}
    for job_id in before:
        if job_id.partition(".")[0] not in ("emails", "jobs"):
            registry.remove(job_id)
    _declare()
    try:
        yield
    finally:
        for declaration in list(registry):
            registry.remove(declaration.id)
        for declaration in before.values():
            registry.add(declaration)


def _declare() -> None:
    _job("shop.reports", NIGHTLY, "Write the day's figures.", cadence_is_data=True)
    _job("shop.stock", QUARTERS, "Ask the warehouse what is left of each article.")
    _job("shop.backups", SIX_HOURS, "Dump, check and ship a backup.", cadence_is_data=True)
    _job("shop.invoices", WEEKLY, "Send the week's invoices to the bookkeeper.")
    _job("shop.import", Manual(), "Read a catalogue that a supplier has sent.")
    _job("shop.ledger", Every(ms=3_600_000), "Close the hour.", manual_run=False)


def _job(job_id: str, cadence: Cadence, summary: str, **options: object) -> None:
    @job(job_id, cadence=cadence, summary=summary, config_page=MAIL_PAGE, **options)
    def run_once(context: RunContext) -> None:
        context.progress(1, 2)


def fill() -> None:
    """Write the history of the shop's jobs."""
    now = timezone.now()
    _reports(now)
    _stock(now)
    _others(now)


def _reports(now: dt.datetime) -> None:
    _scheduled("shop.reports", NIGHTLY, now, days=22, took=lambda n: 40 + n * 13 % 31)
    JobRunFactory(
        job_id="shop.reports", trigger="manual", requested_by="anna", reason="a late booking",
        started_at=now - dt.timedelta(minutes=50),
        finished_at=now - dt.timedelta(minutes=49, seconds=12),
    )  # fmt: skip
    AuditLogFactory(verb="run", target="job_states shop.reports", reason="a late booking")


def _stock(now: dt.datetime) -> None:
    runs = _scheduled(
        "shop.stock", QUARTERS, now, days=0.25, took=lambda n: 3 + n % 3, failing=4, missed=9
    )
    alert = AlertFactory(
        subject="shop.stock",
        detail="4 scheduled runs in a row failed; the last good one was 1 h ago",
        evidence={"run_ids": runs[:4], "failures": 4},
        notifications=[
            {"event": "opened", "channel": "log", "at": now.isoformat(), "ok": True, "tries": 1},
            {
                "event": "opened", "channel": "email", "at": now.isoformat(), "ok": True,
                "tries": 1, "detail": "to 2 addresses",
            },
            {
                "event": "opened", "channel": "webhook", "at": now.isoformat(), "ok": False,
                "tries": 3, "detail": "ALERT_WEBHOOK_URL answered 502; 200 to 299 is success.",
            },
        ],
    )  # fmt: skip
    assert alert.pk


def _others(now: dt.datetime) -> None:
    JobStateFactory(job_id="shop.backups", last_tick_at=None, next_due_at=_next(SIX_HOURS, now))
    JobStateFactory(
        job_id="shop.invoices", last_tick_at=None, paused_at=now - dt.timedelta(hours=30),
        paused_by="ben", pause_reason="the bookkeeper is away",
    )  # fmt: skip
    _scheduled("shop.invoices", WEEKLY, now, days=80, took=lambda n: 8 + n % 4, state=False)
    JobRunFactory(
        job_id="shop.import", running=True, trigger="manual", requested_by="anna",
        reason="the new catalogue", started_at=now - dt.timedelta(minutes=2),
        progress_done=18_204, progress_total=51_000,
    )  # fmt: skip
    JobStateFactory(
        job_id="shop.ledger", last_tick_at=None, next_due_at=now + dt.timedelta(minutes=17)
    )
    JobRunFactory(job_id="shop.ledger", scheduled_for=now - dt.timedelta(minutes=43))
    JobStateFactory(job_id="shop.old_cleanup", last_tick_at=None)
    JobRunFactory(job_id="shop.old_cleanup", started_at=now - dt.timedelta(days=24))
    JobStateFactory(job_id="jobs.alerts", last_tick_at=None, next_due_at=_next_minute(now))
    JobStateFactory(idle_passes=1204)
    for minutes in range(20, 0, -1):
        at = now - dt.timedelta(minutes=minutes)
        slot = at.replace(second=0, microsecond=0)
        JobRunFactory(job_id="jobs.alerts", scheduled_for=slot, started_at=at)
    AlertFactory(
        rule="dead_letter_depth", subject="email_jobs", detail="3 dead letters, threshold 1",
        evidence={"count": 3, "is_capped": False, "job_id": "emails.processor"},
        acknowledged_at=now, acknowledged_by="anna", note="the addresses are being mended",
        acknowledged_until=now + dt.timedelta(hours=4),
    )  # fmt: skip
    AlertFactory(
        rule="no_worker", subject="-", detail="no worker has sent a heartbeat for 2 min",
        resolved_at=now, resolution="A worker sent a heartbeat.",
    )  # fmt: skip


def _scheduled(
    job_id: str,
    cadence: Cron,
    now: dt.datetime,
    *,
    days: float,
    took: Callable[[int], float],
    failing: int = 0,
    missed: int = -1,
    state: bool = True,
) -> list[int]:
    """Write a run for each slot of the last days; return the ids, newest first."""
    slots = [now - dt.timedelta(days=days)]
    while (following := _next(cadence, slots[-1])) <= now:
        slots.append(following)
    ids = []
    for place, (_, slot) in enumerate(pairwise(slots)):
        from_end = len(slots) - 2 - place
        started = slot + dt.timedelta(seconds=0.4)
        ended = started + dt.timedelta(seconds=took(place))
        if from_end == missed:
            run = JobRunFactory(
                job_id=job_id, status="missed", scheduled_for=slot, started_at=None,
                finished_at=None, claimed_by="",
            )  # fmt: skip
        else:
            run = JobRunFactory(
                job_id=job_id, scheduled_for=slot, started_at=started, finished_at=ended,
                status="failed" if from_end < failing else "succeeded",
                error=ERROR if from_end < failing else "",
            )  # fmt: skip
        ids.append(run.pk)
    if state:
        JobStateFactory(
            job_id=job_id, last_tick_at=None, accounted_until=slots[-1],
            next_due_at=_next(cadence, now),
        )  # fmt: skip
    return ids[::-1]


def _next(cadence: Cadence, after: dt.datetime) -> dt.datetime:
    found = cadence.next_after(after)
    assert found is not None
    return found


def _next_minute(now: dt.datetime) -> dt.datetime:
    return now.replace(second=0, microsecond=0) + dt.timedelta(minutes=1)
