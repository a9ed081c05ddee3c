"""The timers of production, and the fakes that stand for them in tests."""

from __future__ import annotations

import datetime as dt
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from jobs.cadence import CadenceError, Cron, Every
from jobs.errors import SchedulerClosedError, StoppedTaskError
from jobs.schedulers import (
    CronScheduler,
    IntervalScheduler,
    Scheduler,
    ThreadIntervalScheduler,
    TimedCronTask,
    TimedIntervalTask,
)
from jobs.testing import FakeIntervalScheduler, FakeScheduler
from jobs.timers import TimerThread

NOON = dt.datetime(2026, 1, 15, 12, tzinfo=dt.UTC)
LIMIT_SECONDS = 20


class SetClock:
    """A wall clock that shows what the test says."""

    def __init__(self, now: dt.datetime) -> None:
        self.now = now

    def __call__(self) -> dt.datetime:
        return self.now


class SetMonotonic:
    """A monotonic clock that shows what the test says."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def intervals() -> Iterator[ThreadIntervalScheduler]:
    scheduler = ThreadIntervalScheduler()
    yield scheduler
    scheduler.close()


def _threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("engineroom-")]


def _wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.005)


def test_making_schedulers_starts_no_thread_and_the_first_task_starts_one() -> None:
    before = _threads()
    cron, intervals = CronScheduler(), ThreadIntervalScheduler()
    made = _threads()

    cron.schedule("@hourly", list)
    intervals.every(60_000, list)
    started = _threads()
    cron.close()
    intervals.close()

    assert made == before
    assert sorted(started) == sorted([*before, "engineroom-cron", "engineroom-intervals"])
    assert _threads() == before


def test_an_interval_task_is_called_again_and_again(intervals: ThreadIntervalScheduler) -> None:
    calls: list[int] = []

    intervals.every(5, lambda: calls.append(1))

    _wait_until(lambda: len(calls) >= 3)


def test_a_task_that_raises_is_logged_and_stops_neither_itself_nor_others(
    intervals: ThreadIntervalScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[int] = []
    calls: list[int] = []

    def broken() -> None:
        failures.append(1)
        raise ValueError("broken on purpose")

    with caplog.at_level(logging.ERROR, logger="jobs.timers"):
        intervals.every(5, broken)
        intervals.every(5, lambda: sys.exit(3))
        intervals.every(5, lambda: calls.append(1))
        _wait_until(lambda: len(failures) >= 3 and len(calls) >= 3)

    assert "scheduled_task_failed task=" in caplog.text
    assert "broken on purpose" in caplog.text


def test_a_stopped_task_is_not_called_any_more(intervals: ThreadIntervalScheduler) -> None:
    stopped: list[int] = []
    others: list[int] = []
    task = intervals.every(5, lambda: stopped.append(1))
    intervals.every(5, lambda: others.append(1))
    _wait_until(lambda: stopped)

    task.stop()
    task.stop()
    count, seen = len(stopped), len(others)
    _wait_until(lambda: len(others) >= seen + 5)

    assert len(stopped) <= count + 1  # one call may have been under way


def test_a_task_may_stop_itself_and_schedule_another(intervals: ThreadIntervalScheduler) -> None:
    calls: list[str] = []

    def first() -> None:
        calls.append("first")
        task.stop()
        intervals.every(5, lambda: calls.append("second"))

    task = intervals.every(5, first)

    _wait_until(lambda: calls.count("second") >= 2)
    assert calls.count("first") == 1


def test_a_cron_task_is_called_when_the_wall_clock_reaches_its_slot() -> None:
    clock = SetClock(NOON - dt.timedelta(milliseconds=20))
    calls: list[dt.datetime] = []
    scheduler = CronScheduler(clock=clock)

    task = scheduler.schedule("0 12 * * *", lambda: calls.append(clock.now))
    assert task.next_fire == NOON
    clock.now = NOON
    _wait_until(lambda: calls)
    scheduler.close()

    assert calls == [NOON]
    assert task.next_fire == NOON + dt.timedelta(days=1)


def test_slots_slept_through_make_one_call() -> None:
    clock, calls = SetClock(NOON), []
    task = TimedCronTask(Cron("* * * * *"), lambda: calls.append(1), clock=clock)

    clock.now = NOON + dt.timedelta(hours=5, seconds=30)
    delay = task.tick()
    task.tick()

    assert len(calls) == 1
    assert task.next_fire == NOON + dt.timedelta(hours=5, minutes=1)
    assert delay == 30


def test_a_clock_set_back_is_noticed_at_the_next_look() -> None:
    clock, calls = SetClock(NOON + dt.timedelta(days=300)), []
    task = TimedCronTask(Cron("0 * * * *"), lambda: calls.append(1), clock=clock)

    clock.now = NOON
    task.tick()

    assert calls == []
    assert task.next_fire == NOON + dt.timedelta(hours=1)


def test_the_wall_clock_is_looked_at_every_half_minute_at_least() -> None:
    clock = SetClock(NOON)

    far = TimedCronTask(Cron("0 0 1 1 *"), list, clock=clock)
    near = TimedCronTask(Cron("1 12 * * *"), list, clock=clock)
    clock.now = NOON + dt.timedelta(seconds=50)

    assert far.delay() == 30
    assert near.delay() == 10


def test_an_interval_keeps_its_rate_and_makes_no_burst_after_a_pause() -> None:
    clock, calls = SetMonotonic(), []
    task = TimedIntervalTask(Every(ms=1000), lambda: calls.append(clock.now), monotonic=clock)

    for now in (1000.5, 1001.2, 1002.1, 1060.4, 1060.9, 1061.0):
        clock.now = now
        task.tick()

    assert calls == [1001.2, 1002.1, 1060.4, 1061.0]


def test_a_slow_call_does_not_make_the_next_ones_early_or_many() -> None:
    clock, calls = SetMonotonic(), []

    def slow() -> None:
        calls.append(clock.now)
        clock.now += 3.3

    task = TimedIntervalTask(Every(ms=1000), slow, monotonic=clock)
    clock.now = 1001.0
    delay = task.tick()

    assert calls == [1001.0]
    assert delay == pytest.approx(0.7)


def test_one_timer_can_serve_both_schedulers() -> None:
    timer, calls = TimerThread(name="engineroom-timer"), []

    CronScheduler(timer=timer).schedule("@yearly", list)
    ThreadIntervalScheduler(timer=timer).every(5, lambda: calls.append(1))
    _wait_until(lambda: calls)
    threads = _threads()
    timer.close()

    assert threads.count("engineroom-timer") == 1


def test_a_closed_scheduler_takes_no_task_and_calls_none() -> None:
    scheduler, calls = ThreadIntervalScheduler(), []
    task = scheduler.every(5, lambda: calls.append(1))
    _wait_until(lambda: calls)

    scheduler.close()
    scheduler.close()
    count = len(calls)

    assert task.stopped
    with pytest.raises(SchedulerClosedError, match="engineroom-intervals is closed"):
        scheduler.every(5, list)
    assert len(calls) == count


def test_a_task_may_close_its_own_scheduler() -> None:
    scheduler, calls = ThreadIntervalScheduler(), []

    def close() -> None:
        scheduler.close()
        calls.append(1)

    scheduler.every(5, close)

    _wait_until(lambda: calls and "engineroom-intervals" not in _threads())


def test_timers_do_not_keep_the_process_alive() -> None:
    program = (
        "from jobs.schedulers import CronScheduler, ThreadIntervalScheduler\n"
        "CronScheduler().schedule('* * * * *', list)\n"
        "ThreadIntervalScheduler().every(10, list)\n"
        "print('end of the program')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "end of the program\n"


@pytest.mark.parametrize("scheduler", [CronScheduler(), FakeScheduler()])
def test_a_bad_expression_or_zone_is_refused_by_the_fake_too(scheduler: Scheduler) -> None:
    with pytest.raises(CadenceError, match="the minute 61"):
        scheduler.schedule("61 * * * *", list)
    with pytest.raises(CadenceError, match="time zone"):
        scheduler.schedule("* * * * *", list, zone="Moon/Base")


@pytest.mark.parametrize("scheduler", [ThreadIntervalScheduler(), FakeIntervalScheduler()])
@pytest.mark.parametrize("interval_ms", [0, -1, 1.5])
def test_a_bad_interval_is_refused_by_the_fake_too(
    scheduler: IntervalScheduler, interval_ms: int
) -> None:
    with pytest.raises(CadenceError, match="interval"):
        scheduler.every(interval_ms, list)


def test_the_fake_captures_the_callback_and_fires_it_without_time() -> None:
    scheduler, calls = FakeScheduler(now=NOON), []

    task = scheduler.schedule("30 2 * * *", lambda: calls.append(1), zone="Europe/Berlin")
    task.fire()
    task.fire()

    assert calls == [1, 1]
    assert task.calls == 2
    assert task.next_fire == dt.datetime(2026, 1, 16, 1, 30, tzinfo=dt.UTC)
    assert task.cadence == Cron("30 2 * * *", zone="Europe/Berlin")


def test_the_fake_fires_all_tasks_but_stopped_ones() -> None:
    scheduler, calls = FakeIntervalScheduler(), []
    scheduler.every(1000, lambda: calls.append("a"))
    stopped = scheduler.every(2000, lambda: calls.append("b"))

    stopped.stop()
    fired = scheduler.fire_all()

    assert fired == 1
    assert calls == ["a"]
    assert [task.cadence for task in scheduler.tasks] == [Every(ms=1000)]
    with pytest.raises(StoppedTaskError, match="every 2 seconds is stopped"):
        stopped.fire()


def test_the_fake_hands_on_what_a_task_raises() -> None:
    task = FakeScheduler().schedule("@daily", lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        task.fire()
