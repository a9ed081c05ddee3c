"""``/jobz``: the same answer as ``check_jobs``, for a monitor on the network."""

from __future__ import annotations

import threading

import pytest
from django.utils import timezone

from jobs.alerts import judging
from jobs.alerts.checking import CheckAnswer
from jobs.health import jobz
from jobs.health.jobz import JobsCheck
from jobs.health.reasons import Reason
from jobs.models import Alert
from jobs.models.alert import AlertRule
from tests.jobs.alerting import ORDERS, ago, declared, on_time, only_declared, worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_check(monkeypatch):
    """Keep no answer of another test."""
    monkeypatch.setattr(jobz, "jobs_check", JobsCheck())


@pytest.fixture(autouse=True)
def static_root(settings, tmp_path):
    """Let the site's middleware find the directory that it looks for."""
    settings.STATIC_ROOT = tmp_path


class Database:
    def __init__(self, *reasons: Reason) -> None:
        self._reasons = list(reasons)

    def reasons(self) -> list[Reason]:
        return self._reasons


def well() -> CheckAnswer:
    return CheckAnswer(ok=True, checked_at=timezone.now(), items=())


def test_it_is_200_when_the_background_work_is_well(client) -> None:
    worker()
    with only_declared(), declared():
        on_time()
        answer = client.get("/jobz")

    assert answer.status_code == 200
    assert answer.json()["ok"] is True
    assert answer.json()["items"] == []
    assert "no-cache" in answer.headers["Cache-Control"]


def test_it_is_503_with_every_problem_and_needs_no_login_and_writes_nothing(client) -> None:
    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))
        answer = client.get("/jobz")

    assert answer.status_code == 503
    assert [item["rule"] for item in answer.json()["items"]] == ["no_worker"]
    assert not Alert.objects.exists()


def test_it_shows_no_text_of_an_exception(client, monkeypatch) -> None:
    def broken(snapshot):
        raise ValueError("the key is sesame")

    monkeypatch.setitem(judging.RULES, AlertRule.STALLED, broken)
    worker()
    with only_declared():
        answer = client.get("/jobz")

    assert answer.status_code == 503
    assert answer.json()["items"][0]["subject"] == "stalled"
    assert "sesame" not in answer.content.decode()


def test_late_jobs_do_not_make_the_site_unready(client) -> None:
    worker()
    with only_declared(), declared():
        on_time(next_due_at=ago(hours=2))

        assert client.get("/jobz").status_code == 503
        assert client.get("/jobz").json()["items"][0]["subject"] == ORDERS
        assert client.get("/readyz").status_code == 200


def test_it_takes_get_and_head_only(client) -> None:
    assert client.post("/jobz").status_code == 405


def test_a_database_that_is_away_is_said_before_anything_is_evaluated() -> None:
    away = Database(Reason(code="database", detail="connection refused"))
    check = JobsCheck(look=lambda: pytest.fail("it was asked"), database=away)

    answer = check.answer()

    assert answer.status == 503
    assert answer.body["items"][0]["rule"] == "database"


def test_a_check_that_does_not_answer_is_left_behind_within_the_limit() -> None:
    release = threading.Event()

    def look() -> CheckAnswer:
        release.wait(20)
        return well()

    answer = JobsCheck(look=look, database=Database(), wait_seconds=0.1).answer()
    release.set()

    assert answer.status == 503
    assert "no answer within 0.1 s" in answer.body["items"][0]["detail"]


def test_a_flood_of_requests_makes_one_evaluation_a_second() -> None:
    looks = []
    time = [0.0]

    def look() -> CheckAnswer:
        looks.append(1)
        return well()

    check = JobsCheck(look=look, database=Database(), clock=lambda: time[0])
    for _ in range(50):
        check.answer()
    first_second = len(looks)
    time[0] = 1.0
    check.answer()

    assert (first_second, len(looks)) == (1, 2)


def test_a_check_that_fails_says_of_what_kind_and_no_more() -> None:
    def look() -> CheckAnswer:
        raise ValueError("the key is sesame")

    answer = JobsCheck(look=look, database=Database()).answer()

    assert answer.body["items"][0]["detail"] == "ValueError"
