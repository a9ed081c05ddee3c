"""How long a failed row waits. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

JITTER = 0.1


def delay_ms(
    attempts: int, steps_ms: Sequence[int], *, chance: Callable[[], float] = random.random
) -> int:
    """
    Return the milliseconds to wait after so many failed attempts (1 or more).

    The last step repeats until the cap. Up to 10 % jitter on top, never below the step,
    so that a failed batch does not return as one.
    """
    step = steps_ms[min(max(attempts, 1), len(steps_ms)) - 1]
    return step + int(step * JITTER * chance())
