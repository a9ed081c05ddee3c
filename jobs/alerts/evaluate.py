"""
Opening and resolving alerts by what the rules say.

Evaluations come one after the other, by an advisory lock of their transaction: one that read
its facts before another resolved an alert would open it again. The unique constraint on
rule and subject stands behind it. Channels are told after the commit.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from jobs.alerts import movement, notifying
from jobs.alerts.judging import Ruling, judge
from jobs.alerts.rules import Judgement, Verdict
from jobs.alerts.snapshot import Snapshot
from jobs.alerts.statements import fetch
from jobs.clock import ClockTime
from jobs.failure import storable
from jobs.models import Alert
from jobs.models.alert import AlertRule
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)
# Any number that nothing else locks: "jobs" and "aler" as text.
LOCK = (0x6A6F6273, 0x616C6572)
SUBJECT_LENGTH = 200
UNDECLARED_WORDS = "It is no longer declared."
JOB_RULES = frozenset(
    {
        AlertRule.CONSECUTIVE_FAILURES,
        AlertRule.MISSED_WINDOW,
        AlertRule.DEAD_LETTER_DEPTH,
        AlertRule.STALLED,
    }
)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What one evaluation did."""

    opened: tuple[int, ...]  # ids of alerts
    resolved: tuple[int, ...]
    still_open: int
    failed_rules: tuple[str, ...]
    notes: dict[str, movement.Noted] = dataclasses.field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return it as the summary of a run, with the notes for the next evaluation."""
        return {
            "opened": len(self.opened),
            "resolved": len(self.resolved),
            "open": self.still_open,
            "failed_rules": list(self.failed_rules),
            "watch": movement.write_notes(self.notes),
        }


def evaluate() -> Evaluation:
    """Evaluate every rule for every subject, then tell the channels what is new or failed."""
    evaluation = _evaluate(Snapshot(), rules=None)
    transaction.on_commit(notifying.deliver_due)
    return evaluation


def evaluate_job(job_id: str, *, remote: bool = True) -> Evaluation:
    """
    Evaluate the rules about one job and its queue.

    ``remote`` False leaves the channels that need the network to the next full evaluation.
    """
    evaluation = _evaluate(Snapshot(job_ids=[job_id]), rules=JOB_RULES)
    changed = (*evaluation.opened, *evaluation.resolved)
    if changed:
        transaction.on_commit(lambda: notifying.deliver_due(alert_ids=changed, remote=remote))
    return evaluation


def _evaluate(snapshot: Snapshot, *, rules: frozenset[AlertRule] | None) -> Evaluation:
    with short_transaction("default"):
        _lock()
        rulings = judge(snapshot, only=rules)
        known = _open_alerts()
        opened = [
            alert_id
            for ruling in rulings
            for judgement in ruling.judgements
            if judgement.verdict is Verdict.WRONG
            and (alert_id := _open(ruling.rule, judgement, snapshot)) is not None
        ]
        reasons = _to_resolve(rulings, known, whole=snapshot.is_whole)
        resolved = [alert_id for alert_id, words in reasons.items() if _resolve(alert_id, words)]
    return Evaluation(
        opened=tuple(opened),
        resolved=tuple(resolved),
        still_open=len(known) + len(opened) - len(resolved),
        failed_rules=tuple(_failed(rulings)),
        notes=snapshot.notes,
    )


def _lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", LOCK)


def _open_alerts() -> dict[tuple[str, str], int]:
    rows = Alert.objects.filter(resolved_at__isnull=True).values_list("rule", "subject", "pk")
    return {(rule, subject): alert_id for rule, subject, alert_id in rows}


def _open(rule: AlertRule, judgement: Judgement, snapshot: Snapshot) -> int | None:
    """Open or refresh an alert; return its id if it was not open before."""
    (row,) = fetch(
        "open_alert",
        {
            "rule": rule.value,
            "subject": judgement.subject[:SUBJECT_LENGTH],
            "detail": storable(judgement.words),
            "evidence": json.dumps(judgement.evidence, default=str),
            "now": snapshot.now,
        },
    )
    return int(row["id"]) if row["opened"] else None


def _to_resolve(
    rulings: Iterable[Ruling], known: dict[tuple[str, str], int], *, whole: bool
) -> dict[int, str]:
    """Return the open alerts that are to be resolved, with the words that say why."""
    found = {}
    for ruling in rulings:
        judged = {judgement.subject[:SUBJECT_LENGTH]: judgement for judgement in ruling.judgements}
        for (rule, subject), alert_id in known.items():
            if rule != ruling.rule or ruling.trouble:
                continue
            judgement = judged.get(subject)
            if judgement is None and whole:
                found[alert_id] = UNDECLARED_WORDS
            elif judgement is not None and judgement.verdict in (Verdict.WELL, Verdict.CLOSED):
                found[alert_id] = judgement.words
    return found


def _resolve(alert_id: int, words: str) -> bool:
    rows = Alert.objects.filter(pk=alert_id, resolved_at__isnull=True)
    return bool(rows.update(resolved_at=ClockTime(), resolution=words))


def _failed(rulings: Iterable[Ruling]) -> Iterable[str]:
    for ruling in rulings:
        failed = [item for item in ruling.judgements if item.verdict is Verdict.FAILED]
        if ruling.trouble or failed:
            yield ruling.rule.value
