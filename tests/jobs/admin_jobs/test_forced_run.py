"""A run forced by a script, with a POST."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from jobs.models import AuditLog, JobRun
from jobs.reads.links import object_path
from tests.factories import UserFactory, give
from tests.jobs.admin_jobs.conftest import browser, verb_page


@pytest.mark.parametrize("address", ["/admin/jobs/{}/run", "/admin/jobs/jobstate/{}/run"])
def test_a_script_forces_a_run_by_post(operator, address):
    path = address.format("shop.orders")

    first = operator.post(path, {"reason": "by a script"})
    second = operator.post(path)

    run = JobRun.objects.get()
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == {"run_id": run.pk, "status": "requested", "coalesced": False}
    assert second.json() == {"run_id": run.pk, "status": "requested", "coalesced": True}
    assert first.headers["Location"] == object_path(JobRun, run.pk)
    assert run.reason == "by a script"
    assert AuditLog.objects.count() == LogEntry.objects.count() == 1


def test_a_script_may_give_its_reason_as_json_or_none(operator):
    path = "/admin/jobs/shop.orders/run"
    sent = operator.post(path, {"reason": "as JSON"}, content_type="application/json")

    assert sent.status_code == 202
    assert JobRun.objects.get().reason == "as JSON"
    for body in ("{", "[1]", '{"reason": 5}', '{"reason": "' + "x" * 2001 + '"}'):
        answer = operator.post(path, body, content_type="application/json")
        assert answer.status_code == 400
        assert "The reason is not a text" in answer.json()["error"]


def test_a_forced_run_is_refused_with_the_status_that_says_why(operator, observer_client):
    unknown = operator.post("/admin/jobs/shop.ordres/run")
    got = operator.get("/admin/jobs/shop.orders/run")

    assert (unknown.status_code, unknown.json()["nearest"]) == (404, "shop.orders")
    assert operator.post("/admin/jobs/shop.closing/run").status_code == 409
    assert (got.status_code, got.headers["Allow"]) == (405, "POST")
    assert observer_client.post("/admin/jobs/shop.orders/run").status_code == 403
    assert Client().post("/admin/jobs/shop.orders/run").status_code == 403
    assert not JobRun.objects.exists()


@pytest.fixture
def observer_client() -> Client:
    user = UserFactory()
    give(user, "jobs.view_jobstate")
    client = Client()
    client.force_login(user)
    return client


def test_the_permission_alone_is_not_enough_for_somebody_who_is_not_staff():
    client = browser("jobs.run_job", is_staff=False)

    assert client.post("/admin/jobs/shop.orders/run").status_code == 403


def test_a_forced_run_needs_the_csrf_token():
    user = UserFactory(is_superuser=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)

    refused = client.post("/admin/jobs/shop.orders/run")
    client.get(verb_page("shop.orders", "run"))
    token = client.cookies["csrftoken"].value
    taken = client.post("/admin/jobs/shop.orders/run", headers={"X-CSRFToken": token})

    assert (refused.status_code, taken.status_code) == (403, 202)
