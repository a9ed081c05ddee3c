"""The rules about queues, backups and workers, as pure functions over facts."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.alerts.facts import BackupFacts, DeadLetterFacts, StallFacts, WorkerFacts
from jobs.alerts.movement import Noted, Pass, follow, last_finish, read_notes, write_notes
from jobs.alerts.rules import (
    Verdict,
    alive_since,
    judge_backup,
    judge_dead_letters,
    judge_stall,
    judge_workers,
)
from tests.jobs.alerts.facts import NOW, minutes_ago


@pytest.mark.parametrize(
    ("count", "threshold", "verdict"),
    [
        (0, 1, Verdict.WELL),
        (1, 1, Verdict.WRONG),
        (9, 10, Verdict.WELL),
        (10, 10, Verdict.WRONG),
    ],
)
def test_dead_letters_are_wrong_from_the_queues_threshold_on(count, threshold, verdict) -> None:
    queue = DeadLetterFacts(queue="email_jobs", count=count, threshold=threshold)

    assert judge_dead_letters(queue).verdict is verdict


def test_no_backup_at_all_is_older_than_any_objective() -> None:
    never = BackupFacts(subject="retention.backups", newest_verified_at=None, rpo_hours=1e6)

    assert judge_backup(never, now=NOW).verdict is Verdict.WRONG


@pytest.mark.parametrize(
    ("hours", "enabled", "verdict"),
    [
        (47, True, Verdict.WELL),
        (49, True, Verdict.WRONG),
        (49, False, Verdict.CLOSED),
    ],
)
def test_a_backup_is_wrong_when_it_is_older_than_its_objective_and_wanted(
    hours, enabled, verdict
) -> None:
    backup = BackupFacts(
        subject="retention.backups",
        newest_verified_at=NOW - dt.timedelta(hours=hours),
        rpo_hours=48,
        is_enabled=enabled,
    )

    assert judge_backup(backup, now=NOW).verdict is verdict


def stall(**fields) -> Verdict:
    known = {"queue": "email_jobs", "processing": 2, "in_work_since": minutes_ago(11)}
    return judge_stall(StallFacts(**(known | fields)), now=NOW).verdict


def test_rows_in_work_of_which_none_is_finished_for_ten_minutes_are_stalled() -> None:
    assert stall() is Verdict.WRONG
    assert stall(in_work_since=minutes_ago(9)) is Verdict.UNDECIDED
    assert stall(finished_at=minutes_ago(11)) is Verdict.WRONG


def test_a_completion_progress_or_an_empty_queue_ends_a_stall() -> None:
    assert stall(finished_at=minutes_ago(1)) is Verdict.WELL
    assert stall(moved_at=minutes_ago(1)) is Verdict.WELL
    assert stall(processing=0, in_work_since=None) is Verdict.WELL


def test_a_row_taken_over_by_another_worker_resolves_no_stall() -> None:
    assert stall(in_work_since=minutes_ago(1), finished_at=minutes_ago(60)) is Verdict.UNDECIDED


def test_a_pass_that_goes_on_moves_when_it_finishes_a_row_or_makes_progress() -> None:
    def going_on(**fields) -> list[Pass]:
        return [Pass(id=1, status="running", **fields)]

    first = follow(None, going_on(output={"claimed": 9}), None, now=minutes_ago(3))
    same = follow(first, going_on(output={"claimed": 12, "lost": 1}), None, now=minutes_ago(2))
    finished = follow(same, going_on(output={"claimed": 12, "failed": 1}), None, now=minutes_ago(1))
    progress = follow(finished, going_on(output={"failed": 1}, progress_done=7), None, now=NOW)
    unchanged = follow(progress, going_on(output={"failed": 1}, progress_done=7), None, now=NOW)

    assert first.moved_at is None
    assert same.moved_at is None
    assert finished.moved_at == minutes_ago(1)
    assert progress.moved_at == NOW
    assert unchanged == progress


def test_a_pass_that_was_lost_has_finished_nothing_by_its_end() -> None:
    lost = Pass(id=1, status="lost", finished_at=NOW, output={"done": 5})
    done = Pass(id=2, status="succeeded", finished_at=minutes_ago(5), output={"done": 1})
    noted = Noted(passes={"1": [5, None]})

    assert last_finish([lost, done]) == minutes_ago(5)
    assert follow(noted, [lost], None, now=NOW).moved_at is None


def test_what_an_app_declares_as_progress_moves_a_queue_when_it_changes() -> None:
    first = follow(None, [], {"deleted": 10}, now=minutes_ago(2))
    moved = follow(first, [], {"deleted": 11}, now=minutes_ago(1))

    assert moved.moved_at == minutes_ago(1)
    assert follow(moved, [], {"deleted": 11}, now=NOW).moved_at == minutes_ago(1)


def test_notes_are_read_back_as_they_were_written() -> None:
    notes = {"email_jobs": Noted(passes={"7": [3, None]}, progress=[1, 2], moved_at=NOW)}

    assert read_notes({"watch": write_notes(notes)}) == notes
    assert read_notes(None) == read_notes({"watch": {"email_jobs": "?"}}) == {}


def worker(started: float, heartbeat: float) -> WorkerFacts:
    return WorkerFacts(
        name="w", started_at=minutes_ago(started), heartbeat_at=minutes_ago(heartbeat)
    )


def test_no_worker_ever_and_a_heartbeat_older_than_a_minute_are_wrong() -> None:
    assert judge_workers([], now=NOW).verdict is Verdict.WRONG
    assert judge_workers([worker(60, 1)], now=NOW).verdict is Verdict.WRONG
    assert judge_workers([worker(60, 0.9), worker(60, 30)], now=NOW).verdict is Verdict.WELL


def test_workers_started_again_within_a_minute_have_been_alive_all_along() -> None:
    crashing = [worker(3, 2.2), worker(2, 1.2), worker(1, 0.2)]

    assert alive_since(crashing, now=NOW) == minutes_ago(3)
    assert alive_since([worker(60, 30), worker(1, 0)], now=NOW) == minutes_ago(1)
    assert alive_since([worker(60, 30)], now=NOW) is None
