"""How long a failed row waits."""

from __future__ import annotations

import pytest

from jobs.backoff import delay_ms

STEPS = (30_000, 120_000, 480_000, 1_920_000)


@pytest.mark.parametrize(
    ("attempts", "milliseconds"),
    [(1, 30_000), (2, 120_000), (3, 480_000), (4, 1_920_000), (5, 1_920_000), (50, 1_920_000)],
)
def test_the_steps_follow_one_another_and_the_last_repeats(attempts, milliseconds):
    assert delay_ms(attempts, STEPS, chance=lambda: 0.0) == milliseconds


def test_the_jitter_is_a_tenth_at_most_and_comes_on_top():
    assert delay_ms(1, STEPS, chance=lambda: 1.0) == 33_000


def test_rows_that_fail_together_do_not_come_back_together():
    assert len({delay_ms(1, STEPS) for _ in range(100)}) > 10
