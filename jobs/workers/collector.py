"""The garbage collector of a process that has loaded nearly all that it will."""

from __future__ import annotations

import gc

# Objects made and not freed before the young are looked at. Python's own 700 (2,000 in 3.13)
# are fewer than one claim of 100 rows makes, none of which is garbage: a worker that sends mail
# had a tenth of its time in the collector.
YOUNG = 10_000


def settle_in() -> None:
    """
    Have the collector pass over what is loaded, and look less often at what is new.

    A collector that was switched off, or told to look less often still, stays as it is.
    """
    gc.collect()
    gc.freeze()
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, YOUNG), *older)
