"""How long a failed row waits, for any steps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobs.backoff import delay_ms

steps = st.lists(st.integers(1, 86_400_000), min_size=1, max_size=8)


@given(steps=steps, attempts=st.integers(-3, 60))
def test_a_row_waits_for_its_step_and_up_to_a_tenth_more(steps, attempts):
    waited = delay_ms(attempts, steps)

    step = steps[min(max(attempts, 1), len(steps)) - 1]
    assert step <= waited <= step * 1.1


@given(steps=steps, attempts=st.integers(1, 60), chance=st.floats(0, 1))
def test_the_jitter_grows_with_its_chance(steps, attempts, chance):
    least = delay_ms(attempts, steps, chance=lambda: 0.0)
    most = delay_ms(attempts, steps, chance=lambda: 1.0)

    assert least <= delay_ms(attempts, steps, chance=lambda: chance) <= most


@given(steps=steps, more=st.integers(0, 50))
def test_the_last_step_repeats(steps, more):
    assert delay_ms(len(steps) + more, steps, chance=lambda: 0.0) == steps[-1]
