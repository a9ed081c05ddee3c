"""A process lives while its loops tick."""

from __future__ import annotations

import pytest

from jobs.health.answers import live


def test_a_process_without_loops_lives(process):
    answer = live(process)

    assert (answer.status, answer.body) == (200, {"alive": True, "reasons": []})


def test_a_loop_that_ticks_lives(process, clock):
    process.register("emails.processor", period_seconds=30)
    for _ in range(10):
        clock.now += 80
        process.tick("emails.processor")

    clock.now += 90

    assert live(process).status == 200


@pytest.mark.parametrize(("period", "limit"), [(2, 60), (20, 60), (30, 90), (3600, 10_800)])
def test_a_loop_may_be_silent_for_three_periods_and_at_least_a_minute(
    process, clock, period, limit
):
    process.register("emails.processor", period_seconds=period)
    clock.now += limit
    assert live(process).status == 200

    clock.now += 1

    answer = live(process)
    assert answer.status == 503
    assert answer.body == {
        "alive": False,
        "reasons": [
            {
                "code": "loop",
                "detail": f"emails.processor has not ticked for {limit + 1} s (at most {limit})",
            }
        ],
    }


def test_only_the_silent_loop_is_named(process, clock):
    process.register("jobs.alerts", period_seconds=10)
    process.register("emails.processor", period_seconds=10)
    clock.now += 61
    process.tick("jobs.alerts")

    (silent,) = process.silent_loops()

    assert silent.name == "emails.processor"


def test_a_loop_that_ticks_again_lives_again(process, clock):
    process.register("emails.processor", period_seconds=10)
    clock.now += 61
    assert process.silent_loops()

    process.tick("emails.processor")

    assert not process.silent_loops()


def test_nothing_is_expected_of_a_loop_that_has_ended(process, clock):
    process.register("emails.processor", period_seconds=10)
    process.unregister("emails.processor")
    process.tick("emails.processor")
    clock.now += 1000

    assert not process.silent_loops()


def test_loops_of_a_draining_process_owe_no_ticks(process, clock):
    process.register("emails.processor", period_seconds=10)
    process.set_draining()
    clock.now += 1000

    assert live(process).status == 200
