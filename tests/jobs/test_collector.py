"""What a worker process tells the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from jobs.workers.collector import YOUNG, settle_in


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_is_loaded_is_not_looked_at_again():
    kept = [object, "loaded before"]
    settle_in()
    assert not any(each is kept for each in gc.get_objects())
    assert gc.get_freeze_count() > 0


def test_garbage_that_is_made_afterwards_is_still_collected():
    settle_in()
    ring: list[object] = []
    ring.append(ring)
    assert any(each is ring for each in gc.get_objects())
    del ring
    assert gc.collect() >= 1


def test_the_young_are_looked_at_less_often_than_by_default():
    gc.set_threshold(700, 10, 10)
    settle_in()
    assert gc.get_threshold() == (YOUNG, 10, 10)


@pytest.mark.parametrize("chosen", [(YOUNG * 5, 3, 3), (0, 10, 10)])
def test_what_a_project_chose_itself_stays(chosen):
    gc.set_threshold(*chosen)
    settle_in()
    assert gc.get_threshold() == chosen
