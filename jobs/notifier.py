"""
Wakes the workers of other processes after a commit.

NOTIFY inside the business transaction takes a cluster-wide lock and keeps it through the
commit's flush: measured, 16 writers fell from 5,226 to 896 transactions a second. So a
commit only pokes the notifier, which sends NOTIFY on a connection of its own, with
synchronous_commit off: 5,068. The first poke goes out at once, later ones within 50 ms
are folded. A poke that is lost costs at most one poll interval.

Each process has a thread per database, from its first poke until the pokes cease. It opens
the connection and waits for the answers. The words themselves are put on the wire by who
pokes, where nothing is to be waited for: the thread would begin only when the poking one
lets go of the interpreter, a millisecond later.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

from django.core import mail
from django.db import DEFAULT_DB_ALIAS, connections, transaction

from jobs import direct
from jobs.failure import headline
from jobs.loglimit import LineLimit
from jobs.postman import Note, Postman

logger = logging.getLogger(__name__)

FOLD_SECONDS = 0.05
# A web process that seldom enqueues does not keep a connection for ever.
LINGER_SECONDS = 60.0
EXIT_SECONDS = 2.0
LONGEST_BACKOFF_SECONDS = 30.0
# After about a minute of failures; every poll has long found the work.
MOST_FAILURES = 8


def wake(channel: str, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Poke the channel once the transaction of that database has committed."""
    transaction.on_commit(partial(poke, channel, using=using), using=using, robust=True)


def poke(channel: str, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Tell the listeners of a channel that there may be work. Never raises, never waits."""
    try:
        _tell_subscribers(channel)
        notifier_of(using).add(Note(channel))
    except Exception:  # noqa: BLE001 (the caller's work is already committed)
        _warn("notify_failed channel=%s", channel)


def subscribe(callback: Callable[[str], object]) -> Callable[[], None]:
    """
    Call back with the channel at every poke of this process, on the poking thread.

    The callback must be short, such as setting an event. Returns the function that
    ends the subscription.
    """
    with _here.lock:
        _here.subscribers = (*_here.subscribers, callback)
    return partial(_unsubscribe, callback)


def flush(timeout: float = EXIT_SECONDS) -> bool:
    """Send what is pending now; return whether all of it went out within so many seconds."""
    deadline = time.monotonic() + timeout
    outcomes = [notifier.flush(deadline) for notifier in _notifiers()]
    return all(outcomes)


def close(timeout: float = EXIT_SECONDS) -> bool:
    """
    Flush, drop what could not be sent, close the connections.

    The next poke opens them again.
    """
    deadline = time.monotonic() + timeout
    outcomes = [notifier.close(deadline) for notifier in _notifiers()]
    return all(outcomes)


def notifier_of(using: str) -> Notifier:
    """Return this process's notifier of a database."""
    notifier = _here.notifiers.get(using)
    if notifier is None:
        with _here.lock:
            notifier = _here.notifiers.setdefault(using, Notifier(using=using))
    return notifier


class Notifier:
    """Sends what is poked for one database, on a thread and a connection of its own."""

    def __init__(
        self, *, using: str = DEFAULT_DB_ALIAS, linger_seconds: float | None = None
    ) -> None:
        self.using = using
        # What keeps the last try from succeeding; None when it did.
        self.trouble: str | None = None
        self._linger_seconds = linger_seconds
        self._lock = threading.Lock()
        self._poked = threading.Condition(self._lock)
        self._settled = threading.Condition(self._lock)
        self._pending: dict[Note, None] = {}
        self._sending: tuple[Note, ...] = ()
        self._not_before: dict[str, float] = {}
        self._retry_at = 0.0
        self._failures = 0
        self._hurry = False
        self._closing = False
        self._thread: threading.Thread | None = None
        self._postman: Postman | None = None  # of the thread

    def add(self, note: Note, *, at_once: bool = False) -> None:
        """Post a note or leave it to the thread; ``at_once`` cuts short a pause after failures."""
        with self._lock:
            if at_once:
                self._retry_at = 0.0
            if self._thread is None or not self._thread.is_alive():
                self._start()
            if at_once or note not in self._pending:
                if not self._post(note):
                    self._pending[note] = None
                self._poked.notify()

    def flush(self, deadline: float) -> bool:
        """Wait until nothing is pending, at most until the deadline (monotonic)."""
        with self._lock:
            self._hurry, self._retry_at = True, 0.0
            self._poked.notify()
            try:
                return self._settled.wait_for(self._is_idle, deadline - time.monotonic())
            finally:
                self._hurry = False

    def close(self, deadline: float) -> bool:
        """Flush, then end the thread and its connection."""
        flushed = self.flush(deadline)
        with self._lock:
            thread, self._closing = self._thread, True
            self._poked.notify()
        if thread is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            self._closing = False
            self._pending.clear()
        return flushed

    def _is_idle(self) -> bool:
        return not self._pending and not self._sending

    def _start(self) -> None:
        # Imports the backend on this thread: a fork during the import of another one would
        # leave the child with half a module.
        connections.create_connection(self.using)
        thread = threading.Thread(
            target=self._run, name=f"engineroom-notify-{self.using}", daemon=True
        )
        thread.start()
        self._thread = thread
        _flush_at_exit()

    def _post(self, note: Note) -> bool:
        """Put a note on the wire, if the connection is free and nothing is to be folded."""
        if self._postman is None or self._pending or self._sending:
            return False
        not_before = max(self._retry_at, self._not_before.get(note.channel, 0.0))
        if time.monotonic() < not_before or not self._postman.post((note,)):
            return False
        self._sending = (note,)
        return True

    def _run(self) -> None:
        with Postman(using=self.using) as postman:
            self._postman = postman
            while notes := self._take():
                self._deliver(postman, notes)

    def _take(self) -> tuple[Note, ...]:
        """Wait for notes that are due or posted; none once the thread should end."""
        with self._lock:
            linger_until = time.monotonic() + self._linger()
            while not self._closing:
                if self._sending:
                    return self._sending
                now = time.monotonic()
                due_at = self._due_at() if self._pending else linger_until
                if due_at > now:
                    self._poked.wait(due_at - now)
                elif not self._pending:
                    break
                else:
                    return self._take_due(now)
            self._thread = self._postman = None
            self._sending = ()
            self._not_before.clear()
            return ()

    def _linger(self) -> float:
        if self._linger_seconds is not None:
            return self._linger_seconds
        # Django makes an outbox for a test run, whose database could not be dropped else.
        return 0.0 if hasattr(mail, "outbox") else LINGER_SECONDS

    def _due_at(self) -> float:
        soonest = min(self._not_before.get(note.channel, 0.0) for note in self._pending)
        return max(self._retry_at, 0.0 if self._hurry else soonest)

    def _take_due(self, now: float) -> tuple[Note, ...]:
        self._sending = tuple(
            note
            for note in self._pending
            if self._hurry or self._not_before.get(note.channel, 0.0) <= now
        )
        for note in self._sending:
            del self._pending[note]
        return self._sending

    def _deliver(self, postman: Postman, notes: tuple[Note, ...]) -> None:
        error: Exception | None = None
        try:
            postman.send(notes)
        except Exception as raised:  # noqa: BLE001 (the thread goes on whatever it is)
            error = raised
        with self._lock:
            self._sending = ()
            if error is None:
                self._succeeded(notes)
            else:
                self._failed(notes, error)
            self._settled.notify_all()
        if error is not None:
            _warn("notify_failed using=%s error=%s", self.using, self.trouble)

    def _succeeded(self, notes: tuple[Note, ...]) -> None:
        self.trouble, self._failures, self._retry_at = None, 0, 0.0
        again_at = time.monotonic() + FOLD_SECONDS
        self._not_before.update((note.channel, again_at) for note in notes)

    def _failed(self, notes: tuple[Note, ...], error: Exception) -> None:
        self.trouble = headline(error)
        self._failures += 1
        pause = min(0.25 * 2 ** min(self._failures, 10), LONGEST_BACKOFF_SECONDS)
        self._retry_at = time.monotonic() + pause
        if self._failures >= MOST_FAILURES:
            self._pending.clear()
        elif isinstance(error, direct.LOST):
            self._pending = {**dict.fromkeys(notes), **self._pending}


class _Here:
    """What belongs to this process alone, made anew in a forked child."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.notifiers: dict[str, Notifier] = {}
        self.subscribers: tuple[Callable[[str], object], ...] = ()
        self.flushes_at_exit = False
        self.warnings = LineLimit()


_here = _Here()


def _notifiers() -> list[Notifier]:
    with _here.lock:
        return list(_here.notifiers.values())


def _tell_subscribers(channel: str) -> None:
    for callback in _here.subscribers:
        try:
            callback(channel)
        except Exception:  # noqa: BLE001 (logged below, at most one line per 30 s)
            _warn("notify_subscriber_failed channel=%s", channel)


def _unsubscribe(callback: Callable[[str], object]) -> None:
    with _here.lock:
        remaining = list(_here.subscribers)
        remaining.remove(callback)
        _here.subscribers = tuple(remaining)


def _warn(text: str, *values: object) -> None:
    if _here.warnings.allows():
        logger.warning(text, *values, exc_info=sys.exc_info()[0] is not None)


def _flush_at_exit() -> None:
    """Children of multiprocessing end without atexit, and run its finalizers instead."""
    finalizers = sys.modules.get("multiprocessing.util")
    if finalizers is not None and not _here.flushes_at_exit:
        finalizers.Finalize(None, close, exitpriority=10)
    _here.flushes_at_exit = True


def _forget_parent() -> None:
    global _here  # noqa: PLW0603 (one per process)
    _here = _Here()


atexit.register(close)
os.register_at_fork(after_in_child=_forget_parent)
