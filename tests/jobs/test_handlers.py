"""The threads that rows are worked on."""

from __future__ import annotations

import queue
import threading

from jobs.workers import handlers
from jobs.workers.handlers import HandlerThreads
from tests.conftest import wait_until


def done_by(threads: HandlerThreads) -> threading.Thread:
    """Have a task done; return who did it."""
    found: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()
    threads.submit(lambda: found.put(threading.current_thread()))
    return found.get(timeout=20)


def idle(threads: HandlerThreads, count: int) -> None:
    wait_until(lambda: len(threads._idle) == count)


def test_two_tasks_never_wait_for_each_other_while_a_thread_is_to_be_had():
    threads = HandlerThreads("test", size=2)
    for _ in range(200):  # of which each finds the threads on their way to be idle again
        met, ended = threading.Event(), threading.Event()
        threads.submit(lambda met=met, ended=ended: met.wait(20) and ended.set())
        threads.submit(met.set)
        assert ended.wait(20)


def test_a_task_beyond_the_size_waits_for_a_thread():
    threads = HandlerThreads("test", size=1)
    first, second = threading.Event(), threading.Event()
    threads.submit(lambda: first.wait(20))
    threads.submit(second.set)
    assert not second.is_set()
    first.set()
    assert second.wait(20)


def test_one_task_after_the_other_is_done_by_the_same_thread_whose_connections_are_warm():
    threads = HandlerThreads("test", size=4)
    together = threading.Barrier(4, timeout=20)
    for _ in range(4):
        threads.submit(together.wait)
    idle(threads, 4)

    took_part = set()
    for _ in range(20):
        took_part.add(done_by(threads))
        idle(threads, 4)
    assert len(took_part) == 1


def test_a_thread_that_is_not_needed_ends(monkeypatch):
    monkeypatch.setattr(handlers, "IDLE_SECONDS", 0.01)
    threads = HandlerThreads("test", size=4)
    thread = done_by(threads)
    thread.join(20)
    assert not thread.is_alive()
    assert done_by(threads) is not thread


def test_no_task_is_lost_to_a_thread_that_ends_in_the_same_moment(monkeypatch):
    monkeypatch.setattr(handlers, "IDLE_SECONDS", 0.0)
    threads = HandlerThreads("test", size=3)
    for _ in range(500):
        done_by(threads)


def test_a_handler_thread_goes_on_after_a_task_that_raises():
    threads = HandlerThreads("test", size=1)
    threads.submit(lambda: 1 / 0)
    assert done_by(threads).is_alive()
