"""The wish to stop."""

from __future__ import annotations

import sys
import threading

import pytest

from jobs.stopping import StopSignal


def test_a_stop_is_asked_for_once_and_its_grace_is_that_of_the_first():
    stop = StopSignal()
    assert (stop.is_set(), stop.is_over, stop.wait(0)) == (False, False, False)
    assert stop.remaining_seconds == float("inf")

    stop.set(grace_ms=60_000)
    stop.set(grace_ms=0)

    assert (stop.is_set(), stop.is_over, stop.wait()) == (True, False, True)
    assert 0 < stop.remaining_seconds <= 60


def test_who_waits_is_woken():
    stop, woken = StopSignal(), []
    thread = threading.Thread(target=lambda: woken.append(stop.wait(30)))
    thread.start()

    stop.set()

    thread.join(20)
    assert woken == [True]
    assert stop.is_over


@pytest.mark.parametrize("step", range(1, 60))
def test_a_signal_at_any_point_of_the_wait_does_not_lock_the_process(step):
    """A signal handler runs between two lines of whatever the main thread does."""
    stop = StopSignal()
    steps = []

    def interrupt(frame, event, argument):
        if frame.f_code.co_filename == threading.__file__ and event == "line":
            steps.append(event)
            if len(steps) == step:
                sys.settrace(None)
                stop.set()
        return interrupt

    def wait():
        sys.settrace(interrupt)
        try:
            stop.wait(0.05)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(10)

    assert not thread.is_alive()
    assert stop.is_set() or len(steps) < step
