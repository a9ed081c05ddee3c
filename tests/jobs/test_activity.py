"""The log stream of jobs."""

from __future__ import annotations

import datetime as dt
import logging

import pytest
from django.db import transaction

from jobs.activity import ActivityHandler, log_activity
from jobs.context import LINES_LIMIT, RunContext, running
from jobs.declarations import registry
from jobs.models import ActivityLog
from jobs.models.run import Trigger
from tests.testapp.models import Letter

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run():
    context = RunContext(declaration=registry.get("testapp.parcels"), trigger=Trigger.SCHEDULE)
    with running(context):
        yield context


@pytest.fixture
def logger():
    logger, handler = logging.getLogger("a.shop"), ActivityHandler(level=logging.INFO)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.removeHandler(handler)


def test_a_line_outside_a_run_is_written_at_once():
    log_activity("email", "warning", "mailbox full", address="a@example.com")

    line = ActivityLog.objects.get()
    assert (line.source, line.level, line.message) == ("email", "warning", "mailbox full")
    assert (line.context, line.run_id, line.job_id) == ({"address": "a@example.com"}, None, "")


def test_a_line_in_the_callers_transaction_goes_with_it():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        log_activity("job", "info", "soon undone")
        raise ZeroDivisionError

    assert not ActivityLog.objects.exists()


def test_a_line_that_cannot_be_written_leaves_the_callers_transaction_usable():
    with transaction.atomic():
        log_activity("job", "x" * 1000, "the level is too long for its column")
        Letter.objects.create()

    assert Letter.objects.count() == 1


def test_a_line_without_a_table_does_not_raise(monkeypatch):
    monkeypatch.setattr(ActivityLog._meta, "db_table", "not_there")

    log_activity("job", "info", "lost")


def test_what_json_cannot_hold_is_written_in_words():
    log_activity("job", "info", "odd", at=dt.date(2026, 1, 1), it=object, nul=["a\x00", "\ud800"])

    context = ActivityLog.objects.get().context
    assert context["at"] == "2026-01-01"
    assert "object" in context["it"]
    assert context["nul"] == ["a\ufffd", "?"]


def test_secrets_are_masked_and_long_ones_cut():
    log_activity("job", "info", "password=hunter2 " + "x" * 20_000, url="https://a:hunter2@b")
    log_activity("job", "info", "big", blob="y" * 50_000)

    first, big = ActivityLog.objects.order_by("id")
    assert "hunter2" not in first.message + str(first.context)
    assert len(first.message) == 8_000
    assert len(str(big.context)) < 17_000


def test_what_a_run_logs_waits_for_its_row(run, logger):
    log_activity("job", "info", "one")
    logger.warning("two %s", 2)
    logger.debug("not of interest")

    assert not ActivityLog.objects.exists()
    assert [(line.level, line.message) for line in run.lines] == [
        ("info", "one"),
        ("warning", "two 2"),
    ]


def test_outside_of_runs_logging_goes_its_own_way(logger):
    logger.error("nobody's")

    assert not ActivityLog.objects.exists()


def test_an_exception_is_named_with_its_line(run, logger):
    try:
        raise ValueError("no")  # noqa: TRY301
    except ValueError:
        logger.exception("failed")

    assert run.lines[0].context["exception"] == "ValueError('no')"


def test_a_line_that_cannot_be_formatted_does_not_reach_the_work(run, logger, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)

    logger.info("%d apples", "many")

    assert run.lines == []


def test_a_run_keeps_a_bounded_number_of_lines_and_counts_the_others(run):
    for number in range(LINES_LIMIT + 5):
        log_activity("job", "info", str(number))

    assert len(run.lines) == LINES_LIMIT
    assert run.dropped_lines == 5
