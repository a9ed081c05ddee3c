"""
What is wrong, evaluated here and now without writing anything.

For ``check_jobs`` and ``/jobz``, which must tell the truth when every worker is dead and
nobody evaluates the alerts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from jobs.alerts.judging import Ruling, judge, trouble_words
from jobs.alerts.rules import ALL_WORKERS, HEARTBEAT_LIMIT, Verdict
from jobs.alerts.snapshot import QueueRef, Snapshot
from jobs.claims import ClaimPolicy
from jobs.clock import ago
from jobs.models import Alert, JobState, Worker
from jobs.outage import is_outage
from jobs.reads.links import admin_url, list_path, site_url
from jobs.reads.words import duration_words, time_words

CHECK_SECONDS = 10.0
UNKNOWN_AFTER_MS = 900_000
LOOKED_THROUGH = 10_000
UNKNOWN_CAP = 1000

RULE_FAILED = "alert_rule_failed"
WINDOWS_DIFFER = "claim_windows_differ"
UNKNOWN_KIND = "unknown_kind"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong."""

    id: int | None  # of the alert that is open about it, if one is
    rule: str
    subject: str
    detail: str
    evidence: dict[str, Any] = field(default_factory=dict)
    since: dt.datetime | None = None  # when that alert opened
    admin_url: str = ""


@dataclass(frozen=True, kw_only=True)
class CheckAnswer:
    """All that is wrong; nothing is when there are no items."""

    ok: bool
    checked_at: dt.datetime
    items: tuple[Problem, ...]
    next_before_id: None = None  # there is only one page


def check(*, seconds: float = CHECK_SECONDS) -> CheckAnswer:
    """Evaluate every rule by reading only, within so many seconds."""
    snapshot = Snapshot(seconds=seconds)
    now = snapshot.now
    rulings = judge(snapshot)
    known = _open_alerts(snapshot)
    problems = [
        *_wrong(rulings, known),
        *_guarded(WINDOWS_DIFFER, lambda: _windows_differ(snapshot)),
        *_guarded(UNKNOWN_KIND, lambda: _unknown_kinds(snapshot)),
        *_rules_failed(rulings),
    ]
    return CheckAnswer(ok=not problems, checked_at=now, items=tuple(problems))


def problem_line(problem: Problem) -> str:
    """Return a problem on one line, the rule's name first."""
    parts = (f"{problem.rule:<21}", f"{problem.subject:<24}", problem.detail, problem.admin_url)
    return " ".join("  ".join(parts).splitlines()).rstrip()


def _open_alerts(snapshot: Snapshot) -> dict[tuple[str, str], Alert]:
    try:
        with snapshot.reading():
            rows = Alert.objects.filter(resolved_at__isnull=True).only(
                "rule", "subject", "opened_at"
            )
            return {(row.rule, row.subject): row for row in rows}
    except Exception as error:
        if is_outage(error):
            raise
        return {}  # the problems are known without


def _wrong(rulings: Iterable[Ruling], known: dict[tuple[str, str], Alert]) -> Iterator[Problem]:
    for ruling in rulings:
        for judgement in ruling.judgements:
            if judgement.verdict is Verdict.WRONG:
                alert = known.get((ruling.rule.value, judgement.subject))
                yield Problem(
                    id=alert.pk if alert else None,
                    rule=ruling.rule.value,
                    subject=judgement.subject,
                    detail=judgement.words,
                    evidence=judgement.evidence,
                    since=alert.opened_at if alert else None,
                    admin_url=admin_url(Alert, alert.pk) if alert else _job_url(judgement.subject),
                )


def _rules_failed(rulings: Iterable[Ruling]) -> Iterator[Problem]:
    for ruling in rulings:
        if ruling.trouble:
            yield _problem(RULE_FAILED, ruling.rule.value, ruling.trouble)
        for judgement in ruling.judgements:
            if judgement.verdict is Verdict.FAILED:
                detail = f"{judgement.subject}: {judgement.words}"
                yield _problem(RULE_FAILED, ruling.rule.value, detail)


def _guarded(rule: str, look: Any) -> list[Problem]:
    try:
        return list(look())
    except Exception as error:
        if is_outage(error):
            raise
        return [_problem(RULE_FAILED, rule, trouble_words(error))]


def _windows_differ(snapshot: Snapshot) -> Iterator[Problem]:
    """Replicas with different windows take rows from each other while both work on them."""
    windows = sorted(
        {
            worker.claim_stale_ms
            for worker in snapshot.workers
            if not worker.is_stopped and snapshot.now - worker.heartbeat_at < HEARTBEAT_LIMIT
        }
    )
    if len(windows) > 1:
        listed = ", ".join(f"{window} ms" for window in windows)
        detail = f"living workers have WORKER_CLAIM_STALE_MS of {listed}: set one value everywhere"
        yield _problem(WINDOWS_DIFFER, ALL_WORKERS, detail)


def _unknown_kinds(snapshot: Snapshot) -> Iterator[Problem]:
    for queue in snapshot.queues:
        if queue.policy is None or not queue.policy.only or queue.is_paused:
            continue
        with snapshot.reading():
            count, oldest = _count_unknown(queue.policy)
        if count:
            yield _unknown(queue, count, oldest, now=snapshot.now)


def _count_unknown(policy: ClaimPolicy) -> tuple[int, dt.datetime | None]:
    """
    Count rows that are due for 15 minutes and that this version of the code leaves alone.

    Only the head of each arm's order is looked through: what is known is claimed from there
    and makes room.
    """
    model = policy.model._default_manager.using(policy.using)
    fresh = Q(status="pending", next_retry_at__isnull=True)
    late = Q(next_retry_at__lte=ago(UNKNOWN_AFTER_MS), status__in=("pending", "failed"))
    heads = (
        model.filter(fresh).order_by(*policy.order).values("pk")[:LOOKED_THROUGH],
        model.filter(late).order_by("next_retry_at", "id").values("pk")[:LOOKED_THROUGH],
    )
    count, oldest = 0, None
    for head in heads:
        rows = model.filter(~policy.only, pk__in=head, created_at__lte=ago(UNKNOWN_AFTER_MS))
        found = list(rows.values_list("created_at", flat=True)[:UNKNOWN_CAP])
        count += len(found)
        oldest = min((at for at in (oldest, *found) if at is not None), default=None)
    return count, oldest


def _unknown(
    queue: QueueRef, count: int, oldest: dt.datetime | None, *, now: dt.datetime
) -> Problem:
    more = "+" if count >= UNKNOWN_CAP else ""
    since = f", the oldest of {time_words(oldest, now=now)}" if oldest else ""
    minutes = duration_words(UNKNOWN_AFTER_MS / 1000)
    return _problem(
        UNKNOWN_KIND,
        queue.name,
        f"{count:,}{more} rows due for over {minutes} are of a kind that this version of the"
        f" code does not know{since}",
    )


def _problem(rule: str, subject: str, detail: str) -> Problem:
    return Problem(id=None, rule=rule, subject=subject, detail=detail)


def _job_url(subject: str) -> str:
    if subject == ALL_WORKERS:
        path = list_path(Worker)
        return f"{site_url()}{path}" if path else ""
    return admin_url(JobState, subject)
