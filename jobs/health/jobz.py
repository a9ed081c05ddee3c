"""
``/jobz``: is the background work well? The same answer as ``manage.py check_jobs``.

It answers within a bound whatever the database does: the database is asked first on a
connection of its own, and the rules run on a thread that can be left behind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import connections
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from jobs.alerts.checking import RULE_FAILED, CheckAnswer, Problem, check
from jobs.health.answers import Answer
from jobs.health.database import DatabaseCheck

CHECK_SECONDS = 6.0
# Beyond the check's own limit of what it reads, for a connection that does not answer.
WAIT_SECONDS = 8.0
# Anyone may ask: not more than one evaluation a second comes of it.
KEEP_SECONDS = 1.0


class JobsCheck:
    """One check at a time; its answer is kept for a second."""

    def __init__(
        self,
        *,
        look: Callable[[], CheckAnswer] = lambda: check(seconds=CHECK_SECONDS),
        database: DatabaseCheck | None = None,
        wait_seconds: float = WAIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._database = database or DatabaseCheck()
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: Answer | None = None
        self._kept_until = float("-inf")

    def answer(self) -> Answer:
        """Return 200 when nothing is wrong, 503 with every problem otherwise."""
        if not self._lock.acquire(timeout=self._wait_seconds):
            return _unanswered("jobs", "another check is still under way")
        try:
            if self._kept is None or self._clock() >= self._kept_until:
                self._kept = self._ask()
                self._kept_until = self._clock() + KEEP_SECONDS
            return self._kept
        finally:
            self._lock.release()

    def _ask(self) -> Answer:
        reasons = self._database.reasons()
        if reasons:
            return _unanswered(reasons[0].code, reasons[0].detail)
        looking = _Look(self._look)
        looking.start()
        looking.join(self._wait_seconds)
        if looking.found is None:
            why = looking.trouble or f"no answer within {self._wait_seconds:g} s"
            return _unanswered("jobs", why)
        return _answer(looking.found)


class _Look(threading.Thread):
    """One check on a daemon thread with connections of its own."""

    def __init__(self, look: Callable[[], CheckAnswer]) -> None:
        super().__init__(name="engineroom-jobz", daemon=True)
        self._look = look
        self.found: CheckAnswer | None = None
        self.trouble = ""

    def run(self) -> None:
        try:
            self.found = self._look()
        except Exception as error:  # noqa: BLE001 (whatever it is, it is the answer)
            self.trouble = type(error).__name__
        finally:
            connections.close_all()


jobs_check = JobsCheck()


@csrf_exempt
@login_not_required
@never_cache
@require_safe
def jobz(_request: HttpRequest) -> JsonResponse:
    """200 when the background work is well, 503 with a line per problem otherwise."""
    answer = jobs_check.answer()
    return JsonResponse(answer.body, status=answer.status)


def _answer(found: CheckAnswer) -> Answer:
    problems = [_public(problem) for problem in found.items]
    body = {"ok": found.ok, "checked_at": found.checked_at, "items": problems}
    return Answer(status=HTTPStatus.OK if found.ok else HTTPStatus.SERVICE_UNAVAILABLE, body=body)


def _public(problem: Problem) -> dict[str, Any]:
    # The page asks for no login: an exception's text stays inside.
    detail = "see manage.py check_jobs" if problem.rule == RULE_FAILED else problem.detail
    return {
        "id": problem.id,
        "rule": problem.rule,
        "subject": problem.subject,
        "detail": detail,
        "since": problem.since,
        "admin_url": problem.admin_url,
    }


def _unanswered(code: str, detail: str) -> Answer:
    item = {
        "id": None, "rule": code, "subject": "-", "detail": detail, "since": None, "admin_url": "",
    }  # fmt: skip
    return Answer(
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        body={"ok": False, "checked_at": None, "items": [item]},
    )
