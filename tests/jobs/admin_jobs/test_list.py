"""The list of jobs."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from jobs.alerts import statements
from jobs.declarations import registry
from jobs.models import Worker
from tests.factories import JobStateFactory, WorkerFactory
from tests.jobs.admin_jobs.conftest import JOBS, page_of, text_of


def shown(client: Client, query: str = "") -> list[str]:
    response = client.get(f"{JOBS}?{query}")
    assert response.status_code == 200
    return [row.pk for row in response.context["cl"].result_list]


def test_every_declared_job_and_every_id_that_only_the_database_knows_is_listed(anna):
    JobStateFactory(job_id="old.cleanup")

    ids = shown(anna)
    text = text_of(anna.get(JOBS))

    assert ids == sorted({*(declared.id for declared in registry), "old.cleanup"})
    for words in ("Bill the orders.", "never ran", "not declared", "30 2 * * *", "Europe/Berlin"):
        assert words in text


def test_without_a_worker_the_list_says_how_to_start_one(anna):
    hint = "Start one: <code>manage.py runworkers</code>"
    assert hint in text_of(anna.get(JOBS))

    WorkerFactory()
    assert hint not in text_of(anna.get(JOBS))

    Worker.objects.update(stopped_at=timezone.now())
    assert hint in text_of(anna.get(JOBS))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("package=shop", ["shop.closing", "shop.orders"]),
        ("package=shop&source=data", ["shop.orders"]),
        ("package=shop&source=code", ["shop.closing"]),
        ("package=shop&kind=queue", []),
        ("package=shop&kind=singleton", ["shop.closing", "shop.orders"]),
        ("package=shop&health=paused", ["shop.closing"]),
        ("health=not-declared", ["old.cleanup"]),
        ("package=shop&health=look", ["shop.orders"]),
        ("package=shop&health=ok", []),
        ("q=ORD", ["shop.orders"]),
        ("q=nothing", []),
    ],
)
def test_filters_and_the_search_show_exactly_the_jobs_they_name(anna, query, expected):
    JobStateFactory(job_id="old.cleanup")
    JobStateFactory(job_id="shop.closing", paused_at=timezone.now())

    assert shown(anna, query) == expected


@pytest.mark.parametrize("query", ["health=bogus", "kind=x", "source=x", "job_id=shop"])
def test_parameters_that_mean_nothing_lead_back_to_the_list(anna, query):
    assert anna.get(f"{JOBS}?{query}").headers["Location"] == f"{JOBS}?e=1"


def test_slow_history_costs_cells_and_not_the_page(anna, monkeypatch):
    JobStateFactory(job_id="shop.orders", next_due_at=timezone.now() + dt.timedelta(hours=1))
    text = statements._text
    slow = "SELECT pg_sleep(20), %(job_ids)s"
    monkeypatch.setattr(
        statements, "_text", lambda name: slow if name == "scheduled_runs" else text(name)
    )

    listed, page = text_of(anna.get(JOBS)), text_of(anna.get(page_of("shop.orders")))

    assert "history slow" in listed
    assert "Bill the orders." in listed
    assert "in 59 min" in listed
    assert "History slow: the ledger did not answer within a second." in page
