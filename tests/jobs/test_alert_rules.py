"""The alert rules as pure functions: no database."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.alerts.facts import (
    BackupFacts,
    DeadLetterFacts,
    JobFacts,
    RunFacts,
    StallFacts,
    WorkerFacts,
)
from jobs.alerts.movement import Noted, Pass, follow, last_finish, read_notes, write_notes
from jobs.alerts.rules import (
    Verdict,
    alive_since,
    judge_backup,
    judge_dead_letters,
    judge_failures,
    judge_stall,
    judge_workers,
)
from jobs.alerts.windows import judge_window
from jobs.cadence import Cron, Every, Manual

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


@pytest.mark.parametrize("status", ["failed", "lost", "interrupted"])
def test_three_scheduled_failures_in_a_row_are_wrong_whatever_their_kind(status) -> None:
    judgement = judge_failures(hourly_job(ended=ended(status, status, status)), now=NOW)

    assert judgement.verdict is Verdict.WRONG
    assert judgement.evidence["run_ids"] == [100, 99, 98]


def test_two_failures_open_nothing_even_when_there_is_no_older_row() -> None:
    judgement = judge_failures(hourly_job(ended=ended("failed", "failed")), now=NOW)

    assert judgement.verdict is Verdict.UNDECIDED


def test_one_scheduled_success_is_well_again() -> None:
    runs = ended("failed", "succeeded", "failed", "failed", "failed")

    assert judge_failures(hourly_job(ended=runs), now=NOW).verdict is Verdict.WELL


def test_a_failing_job_says_how_many_runs_failed_and_when_the_last_good_one_was() -> None:
    runs = ended("failed", "failed", "failed", "failed", first_minutes_ago=0)
    good_at = NOW - dt.timedelta(days=8)
    good = RunFacts(id=1, status="succeeded", started_at=good_at, finished_at=good_at)

    judgement = judge_failures(hourly_job(ended=(*runs, good)), now=NOW)

    assert judgement.words == "4 scheduled runs in a row failed; the last good one was 8 d ago"


def test_an_idle_pass_after_the_failures_of_a_queue_worker_is_its_success() -> None:
    runs = ended("failed", "failed", "failed", first_minutes_ago=5)

    failing = judge_failures(polled_job(ended=runs, last_tick_at=LONG_AGO), now=NOW)
    well = judge_failures(polled_job(ended=runs, last_tick_at=minutes_ago(1)), now=NOW)

    assert failing.verdict is Verdict.WRONG
    assert well.verdict is Verdict.WELL


def test_failures_within_ten_seconds_of_a_tick_prove_nothing_of_a_fast_queue() -> None:
    at = minutes_ago(1)
    runs = tuple(
        RunFacts(id=n, status="failed", finished_at=at + dt.timedelta(seconds=n)) for n in (9, 6, 3)
    )

    assert judge_failures(polled_job(ended=runs, last_tick_at=at), now=NOW).verdict is Verdict.WELL


def test_a_paused_job_closes_its_alerts_and_says_so() -> None:
    paused = hourly_job(is_paused=True, ended=ended("failed", "failed", "failed"))

    for judgement in (
        judge_failures(paused, now=NOW),
        judge_window(paused, now=NOW, alive_since=LONG_AGO),
    ):
        assert judgement.verdict is Verdict.CLOSED
        assert "paused" in judgement.words


@pytest.mark.parametrize(("late_minutes", "is_missed"), [(14.9, False), (15, True)])
def test_a_window_is_missed_when_the_grace_has_passed_and_nothing_started(
    late_minutes, is_missed
) -> None:
    # An hourly job: half its period is 30 minutes, and 15 are the most.
    job = hourly_job(next_due_at=NOW, ended=ended("succeeded"))
    now = NOW + dt.timedelta(minutes=late_minutes)

    judgement = judge_window(job, now=now, alive_since=LONG_AGO)

    assert (judgement.verdict is Verdict.WRONG) == is_missed


@pytest.mark.parametrize(
    ("cadence", "grace_seconds"),
    [(Every(seconds=60), 60), (Every(seconds=600), 300), (Every(seconds=86_400), 900)],
)
def test_the_grace_is_half_the_period_at_least_a_minute_at_most_fifteen(
    cadence, grace_seconds
) -> None:
    def verdict(late_seconds: float) -> Verdict:
        midnight = NOW.replace(hour=0)
        job = hourly_job(cadence=cadence, next_due_at=midnight)
        now = midnight + dt.timedelta(seconds=late_seconds)
        return judge_window(job, now=now, alive_since=LONG_AGO).verdict

    assert verdict(grace_seconds - 1) is not Verdict.WRONG
    assert verdict(grace_seconds) is Verdict.WRONG


def test_a_job_that_never_ran_is_missed_and_named() -> None:
    job = hourly_job(next_due_at=minutes_ago(60))

    judgement = judge_window(job, now=NOW, alive_since=LONG_AGO)

    assert judgement.verdict is Verdict.WRONG
    assert judgement.subject == "shop.orders"
    assert judgement.words.endswith("no run started; it never ran")


def test_a_job_that_no_worker_has_taken_up_is_missed_from_the_workers_start() -> None:
    unseen = JobFacts(id="shop.orders", cadence=HOURLY)

    started_before_a_slot = judge_window(unseen, now=NOW, alive_since=minutes_ago(90))
    started_just_now = judge_window(unseen, now=NOW, alive_since=minutes_ago(1))
    no_worker = judge_window(unseen, now=NOW, alive_since=None)

    assert started_before_a_slot.verdict is Verdict.WRONG
    assert started_just_now.verdict is not Verdict.WRONG
    assert no_worker.verdict is Verdict.UNDECIDED


def test_a_job_that_runs_by_hand_only_has_no_window() -> None:
    job = hourly_job(cadence=Manual())

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is Verdict.WELL


def test_a_cadence_that_cannot_be_read_is_named_with_its_reason() -> None:
    job = hourly_job(cadence=None, trouble="The cron expression '99 * * * *' is refused.")

    judgement = judge_window(job, now=NOW, alive_since=LONG_AGO)

    assert judgement.verdict is Verdict.WRONG
    assert "99 * * * *" in judgement.words


def test_without_a_worker_no_window_opens_an_alert_and_none_is_resolved() -> None:
    job = hourly_job(next_due_at=minutes_ago(600))

    judgement = judge_window(job, now=NOW, alive_since=None, has_worker=False)

    assert judgement.verdict is Verdict.UNDECIDED


def test_workers_that_have_just_started_get_a_minute_to_take_what_was_due_before() -> None:
    job = hourly_job(next_due_at=minutes_ago(600))

    settling = judge_window(job, now=NOW, alive_since=NOW - dt.timedelta(seconds=59))
    settled = judge_window(job, now=NOW, alive_since=NOW - dt.timedelta(seconds=60))

    assert settling.verdict is not Verdict.WRONG
    assert settled.verdict is Verdict.WRONG


def test_a_slot_that_was_missed_and_not_made_up_for_is_a_missed_window() -> None:
    slot = minutes_ago(60)
    missed = RunFacts(id=7, status="missed", slot=slot, finished_at=minutes_ago(30))
    job = hourly_job(
        next_due_at=NOW + dt.timedelta(minutes=30), accounted_until=slot, slots=(missed,)
    )

    judgement = judge_window(job, now=NOW, alive_since=LONG_AGO)

    assert judgement.verdict is Verdict.WRONG
    assert judgement.evidence["run_ids"] == [7]


def test_slots_of_before_a_resume_are_not_missed() -> None:
    missed = RunFacts(id=7, status="missed", slot=minutes_ago(60))
    job = hourly_job(
        next_due_at=NOW + dt.timedelta(minutes=30), accounted_until=minutes_ago(5), slots=(missed,)
    )

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is not Verdict.WRONG


def test_one_skipped_slot_is_no_alert_and_two_are_since_a_run_outlasts_its_period() -> None:
    slots = tuple(
        RunFacts(id=9 - n, status="skipped", slot=minutes_ago(10 + 60 * n)) for n in range(2)
    )
    running = RunFacts(id=1, status="running", slot=minutes_ago(130), started_at=minutes_ago(130))
    due = NOW + dt.timedelta(minutes=50)

    def verdict(*found: RunFacts) -> Verdict:
        job = hourly_job(next_due_at=due, accounted_until=found[0].slot, slots=found)
        return judge_window(job, now=NOW, alive_since=LONG_AGO).verdict

    assert verdict(slots[0], running) is Verdict.WELL
    assert verdict(*slots) is Verdict.WRONG


def test_a_queue_worker_is_late_a_poll_and_a_grace_after_its_last_tick() -> None:
    def verdict(seconds: float) -> Verdict:
        tick = NOW - dt.timedelta(seconds=seconds)
        return judge_window(polled_job(last_tick_at=tick), now=NOW, alive_since=LONG_AGO).verdict

    # 30 s poll, 60 s grace, and the tick is exact to 10 s.
    assert verdict(99) is Verdict.WELL
    assert verdict(100) is Verdict.WRONG


def test_the_grace_of_a_queue_worker_is_half_its_whole_interval() -> None:
    # The tick lies anywhere between two slots of the interval.
    tick = NOW - dt.timedelta(minutes=28)
    job = polled_job(cadence=Every(seconds=1200), last_tick_at=tick)

    in_time = judge_window(job, now=NOW, alive_since=LONG_AGO)
    late = judge_window(job, now=NOW + dt.timedelta(minutes=3), alive_since=LONG_AGO)

    assert in_time.verdict is Verdict.WELL
    assert late.verdict is Verdict.WRONG


def test_a_queue_worker_whose_passes_fail_has_started_them_in_time() -> None:
    job = polled_job(last_tick_at=LONG_AGO, ended=ended("failed", first_minutes_ago=0.5))

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is Verdict.WELL


def test_a_queue_worker_that_was_just_resumed_is_not_late() -> None:
    job = polled_job(last_tick_at=LONG_AGO, accounted_until=minutes_ago(0.5))

    assert judge_window(job, now=NOW, alive_since=LONG_AGO).verdict is not Verdict.WRONG


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


@given(
    st.lists(st.sampled_from(["succeeded", "failed", "lost", "interrupted"]), max_size=20),
    st.booleans(),
)
def test_a_failing_job_has_three_failures_since_its_last_success(statuses, singleton) -> None:
    make = hourly_job if singleton else polled_job

    verdict = judge_failures(make(ended=ended(*statuses)), now=NOW).verdict

    newest = statuses.index("succeeded") if "succeeded" in statuses else len(statuses)
    assert (verdict is Verdict.WRONG) == (newest >= 3)
    assert (verdict is Verdict.WELL) == ("succeeded" in statuses and newest < 3)
