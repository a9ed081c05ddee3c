"""All rules over one snapshot, each on its own: an error in one leaves the others working."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from jobs.alerts.rules import (
    Judgement,
    Verdict,
    judge_backup,
    judge_dead_letters,
    judge_failures,
    judge_stall,
    judge_workers,
)
from jobs.alerts.snapshot import Snapshot
from jobs.alerts.windows import judge_window
from jobs.failure import headline
from jobs.models.alert import AlertRule
from jobs.outage import is_outage
from jobs.reads.errors import SlowReadError

logger = logging.getLogger(__name__)
T = TypeVar("T")
Rule = Callable[[Snapshot], Iterable[Judgement]]


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What one rule says of all its subjects."""

    rule: AlertRule
    judgements: tuple[Judgement, ...]
    trouble: str = ""  # why the rule as a whole could not be evaluated


def judge(snapshot: Snapshot, *, only: Collection[AlertRule] | None = None) -> tuple[Ruling, ...]:
    """
    Evaluate the rules, all or some.

    What a rule raises is logged as ``alert_rule_failed`` and is in its ruling; only an
    outage of the database is raised, since then nothing can be said at all.
    """
    chosen = RULES if only is None else {rule: RULES[rule] for rule in RULES if rule in only}
    return tuple(_rule(rule, evaluate, snapshot) for rule, evaluate in chosen.items())


def trouble_words(error: Exception) -> str:
    """Return an error of a rule on one line."""
    if isinstance(error, SlowReadError):
        return f"the database needed more than {error.milliseconds / 1000:g} s"
    return headline(error)


def _rule(rule: AlertRule, evaluate: Rule, snapshot: Snapshot) -> Ruling:
    try:
        judgements = tuple(evaluate(snapshot))
    except Exception as error:
        if is_outage(error):
            raise
        logger.exception("alert_rule_failed rule=%s", rule)
        return Ruling(rule=rule, judgements=(), trouble=trouble_words(error))
    for judgement in judgements:
        if judgement.verdict is Verdict.FAILED:
            logger.error(
                "alert_rule_failed rule=%s subject=%s error=%s",
                rule,
                judgement.subject,
                judgement.words,
            )
    return Ruling(rule=rule, judgements=judgements)


def _consecutive_failures(snapshot: Snapshot) -> Iterator[Judgement]:
    for job in snapshot.jobs:
        yield judge_failures(job, now=snapshot.now)


def _missed_window(snapshot: Snapshot) -> Iterator[Judgement]:
    workers = judge_workers(snapshot.workers, now=snapshot.now)
    for job in snapshot.jobs:
        yield judge_window(
            job,
            now=snapshot.now,
            alive_since=snapshot.alive_since,
            has_worker=workers.verdict is not Verdict.WRONG,
        )


def _dead_letter_depth(snapshot: Snapshot) -> Iterator[Judgement]:
    queues = {queue.name: queue for queue in snapshot.queues}
    yield from _each(queues, lambda queue: judge_dead_letters(snapshot.dead_letters(queue)))
    yield from _broken(snapshot)


def _stalled(snapshot: Snapshot) -> Iterator[Judgement]:
    queues = {queue.name: queue for queue in snapshot.queues}
    yield from _each(queues, lambda queue: judge_stall(snapshot.stall(queue), now=snapshot.now))
    yield from _broken(snapshot)


def _backup_older_than_rpo(snapshot: Snapshot) -> Iterator[Judgement]:
    subjects = {subject: (subject, read) for subject, read in snapshot.backups.items()}
    yield from _each(
        subjects, lambda declared: judge_backup(snapshot.backup(*declared), now=snapshot.now)
    )


def _no_worker(snapshot: Snapshot) -> Iterator[Judgement]:
    yield judge_workers(snapshot.workers, now=snapshot.now)


def _each(subjects: Mapping[str, T], look: Callable[[T], Judgement]) -> Iterator[Judgement]:
    """Judge each subject on its own: a queue that cannot be read hides no other."""
    for subject, what in subjects.items():
        try:
            yield look(what)
        except Exception as error:
            if is_outage(error):
                raise
            yield Judgement(subject=subject, verdict=Verdict.FAILED, words=trouble_words(error))


def _broken(snapshot: Snapshot) -> Iterator[Judgement]:
    for job_id, error in snapshot.broken.items():
        yield Judgement(subject=job_id, verdict=Verdict.FAILED, words=trouble_words(error))


RULES: dict[AlertRule, Rule] = {
    AlertRule.NO_WORKER: _no_worker,
    AlertRule.CONSECUTIVE_FAILURES: _consecutive_failures,
    AlertRule.MISSED_WINDOW: _missed_window,
    AlertRule.DEAD_LETTER_DEPTH: _dead_letter_depth,
    AlertRule.STALLED: _stalled,
    AlertRule.BACKUP_OLDER_THAN_RPO: _backup_older_than_rpo,
}
