"""System checks of the engine, by their ids."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.db import models
from django.test.utils import isolate_apps

from jobs.cadence import Cron, Every, Manual
from jobs.checks import check_declarations, check_engine_settings, check_pages, missing_indexes
from jobs.claims import ClaimPolicy, Counts, Lease, StaleAfter
from jobs.declarations import JobDeclaration, Registry, registry
from jobs.queues import LeasedQueueRow, QueueRow, queue_indexes
from tests.testapp.jobs import crate_policy, letter_policy, parcel_policy
from tests.testapp.models import Crate, Parcel


def declaration(**fields) -> JobDeclaration:
    known = {
        "id": "shop.orders",
        "summary": "Bill the orders.",
        "run_once": lambda context: None,
        "owner_file": "shop/jobs.py:12",
        "read_cadence": lambda: Every(seconds=60),
    }
    return JobDeclaration(**(known | fields))


def ids(*declarations: JobDeclaration) -> list[str]:
    return [message.id for message in messages(*declarations)]


def messages(*declarations: JobDeclaration):
    jobs = Registry()
    for item in declarations:
        jobs.add(item)
    return [*check_declarations(jobs=jobs), *check_pages(jobs=jobs)]


def test_this_project_has_no_errors() -> None:
    assert [message for message in run_checks() if message.is_serious()] == []


def test_e001_an_id_declared_twice_is_an_error_and_no_crash_at_import() -> None:
    first = declaration()
    second = declaration(owner_file="shop/other.py:3")

    (message,) = messages(first, second)

    assert message.id == "jobs.E001"
    assert "shop/jobs.py:12" in message.msg
    assert "shop/other.py:3" in message.msg


def test_e001_the_first_of_two_declarations_is_kept() -> None:
    jobs = Registry()
    first = declaration()
    jobs.add(first)
    jobs.add(declaration())

    assert jobs.get("shop.orders") is first


@pytest.mark.parametrize("job_id", ["orders", "Shop.orders", "shop.", ".orders", "shop orders.x"])
def test_e002_an_id_is_a_package_a_dot_and_a_noun(job_id) -> None:
    assert ids(declaration(id=job_id)) == ["jobs.E002"]


@pytest.mark.parametrize("job_id", ["shop.orders", "functions.daily-report", "a.b.c2"])
def test_e002_lets_good_ids_be(job_id) -> None:
    assert ids(declaration(id=job_id)) == []


@pytest.mark.parametrize(
    "summary", ["", "  ", "Bill orders. Then ship them.", "Bill\norders", "x" * 201]
)
def test_e003_a_summary_is_one_sentence(summary) -> None:
    (message,) = messages(declaration(summary=summary))

    assert message.id == "jobs.E003"
    assert "shop/jobs.py:12" in str(message)


@pytest.mark.parametrize("summary", ["Bill orders", "Bill orders of v1.2 and later."])
def test_e003_lets_one_sentence_be(summary) -> None:
    assert ids(declaration(summary=summary)) == []


def test_e004_a_configuration_page_must_resolve() -> None:
    (message,) = messages(declaration(config_page="admin:shop_order_changelist"))

    assert message.id == "jobs.E004"
    assert "admin:shop_order_changelist" in message.msg


def test_e004_pages_that_resolve_and_projects_without_the_admin_are_let_be(settings) -> None:
    assert ids(declaration(config_page="admin:index")) == []

    settings.INSTALLED_APPS = [
        app for app in settings.INSTALLED_APPS if app != "django.contrib.admin"
    ]

    assert ids(declaration(config_page="admin:shop_order_changelist")) == []


@pytest.mark.parametrize("cadence", [Cron("0 * * * *"), Manual()])
def test_e005_a_queue_worker_polls_at_an_interval(cadence) -> None:
    job = declaration(singleton=False, policy=parcel_policy, read_cadence=lambda: cadence)

    assert ids(job) == ["jobs.E005"]


def test_e006_a_cadence_that_cannot_be_read_is_named_with_its_reason() -> None:
    (message,) = messages(declaration(read_cadence=lambda: Cron("0 0 31 2 *")))

    assert message.id == "jobs.E006"
    assert "0 0 31 2 *" in message.msg
    assert "refused" in message.msg


def test_w003_a_broken_cadence_that_is_data_stops_no_other_job() -> None:
    (message,) = messages(
        declaration(read_cadence=lambda: Cron("0 0 31 2 *"), cadence_is_data=True)
    )

    assert message.id == "jobs.W003"
    assert not message.is_serious()


def test_e006_also_of_a_function_of_the_project_that_raises() -> None:
    (message,) = messages(declaration(read_cadence=lambda: 1 / 0))

    assert message.id == "jobs.E006"
    assert "ZeroDivisionError" in message.msg


def test_e007_a_policy_that_contradicts_itself_is_named() -> None:
    def policy() -> ClaimPolicy:
        return ClaimPolicy(model=Parcel, counts=Counts.ON_CLAIM, expiry=Lease(ms=5000))

    (message,) = messages(declaration(singleton=False, policy=policy))

    assert message.id == "jobs.E007"
    assert "testapp_parcels" in message.msg


def test_e008_a_setting_out_of_range_is_named_once(settings) -> None:
    settings.WORKER_CLAIM_STALE_MS = -1

    (message,) = check_engine_settings()

    assert message.id == "jobs.E008"
    assert message.msg.startswith("WORKER_CLAIM_STALE_MS=-1 is not allowed")
    # Policies and cadences that read it say nothing more.
    assert ids(declaration(singleton=False, policy=parcel_policy)) == []


def test_e008_a_webhook_that_is_no_url_is_refused_without_showing_it(settings) -> None:
    settings.ALERT_WEBHOOK_URL = "ftp://example.com/sesame"

    (message,) = check_engine_settings()

    assert "ALERT_WEBHOOK_URL=ftp://…" in message.msg
    assert "sesame" not in message.msg


@pytest.mark.parametrize("policy", [parcel_policy, crate_policy, letter_policy])
def test_w001_queues_with_the_claims_indexes_are_let_be(policy) -> None:
    assert ids(declaration(singleton=False, policy=policy)) == []


def test_w001_an_order_that_no_index_has_is_named() -> None:
    policy = ClaimPolicy(model=Crate, counts=Counts.ON_CLAIM, expiry=Lease(ms=5000), order=("-id",))

    (message,) = messages(declaration(singleton=False, policy=lambda: policy))

    assert missing_indexes(policy) == ["pending"]
    assert message.id == "jobs.W001"
    assert "testapp_crates has no index for its pending rows" in message.msg


@isolate_apps("tests.testapp")
def test_w001_and_w002_a_table_without_indexes_and_constraints_is_warned_of() -> None:
    class Bare(QueueRow):
        class Meta:
            app_label = "bare"
            db_table = "bare_rows"

    policy = ClaimPolicy(model=Bare, counts=Counts.ON_CLAIM, expiry=StaleAfter(ms=5000))

    found = ids(declaration(singleton=False, policy=lambda: policy))

    assert found == ["jobs.W001"] * 4 + ["jobs.W002"] * 2


@isolate_apps("tests.testapp")
def test_w002_a_leased_table_needs_the_constraint_of_its_lease() -> None:
    class Half(LeasedQueueRow):
        id = models.BigAutoField(primary_key=True)

        class Meta:
            app_label = "half"
            db_table = "half_rows"
            constraints = QueueRow.Meta.constraints
            indexes = queue_indexes("half_rows", leased=True)

    policy = ClaimPolicy(model=Half, counts=Counts.ON_CLAIM, expiry=Lease(ms=5000))

    (message,) = messages(declaration(singleton=False, policy=lambda: policy))

    assert message.id == "jobs.W002"
    assert "half_lease_matches_status" in message.msg


def test_the_registry_of_this_project_has_no_duplicates() -> None:
    assert registry.duplicates == []
