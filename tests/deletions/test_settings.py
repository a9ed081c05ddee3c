"""Settings of deletions, and what the checks say of them."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

import deletions
from deletions import conf
from deletions.checks import check_billing, check_settings, check_snapshot, check_steps
from deletions.errors import StepImportError
from deletions.relations import Action, references
from deletions.steps import load_steps
from jobs.errors import SettingError

SHOP = "tests.deletions.shop.steps"


def test_the_steps_that_ship_are_in_the_order_of_their_halves():
    assert [(step.half, step.name) for step in load_steps()] == [
        ("access", "account"),
        ("access", "sessions"),
        ("external", "billing"),
        ("external", "buckets"),
        ("local", "mail"),
        ("local", "rows"),
    ]


def test_steps_are_sorted_by_half_and_keep_their_order_within(settings):
    settings.USER_DELETION_STEPS = (
        "deletions.local.DeleteLocalRows",
        f"{SHOP}.Warehouse",
        "deletions.access.Deactivate",
        f"{SHOP}.NewsletterList",
    )

    assert [step.name for step in load_steps()] == ["account", "warehouse", "newsletter", "rows"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("shop.nowhere.Step", "shop"),
        (f"{SHOP}.Nothing", "Nothing"),
        (f"{SHOP}.note", "missing"),
        ("deletions.steps.Skipped", "reason"),
        ("tests.deletions.test_settings.Halfless", "half='outside' is not one of"),
        ("tests.deletions.test_settings.Nameless", "1 to 100 characters"),
        (f"{SHOP}.NewsletterList", "another step is named 'newsletter'"),
    ],
)
def test_a_path_that_leads_to_no_step_is_refused_by_the_check(settings, path, why):
    settings.USER_DELETION_STEPS = (path, "tests.deletions.test_settings.AlsoNewsletter")

    (message,) = check_steps()

    assert message.id == "deletions.E002"
    assert why in message.msg
    with pytest.raises(StepImportError, match=r"USER_DELETION_STEPS: "):
        load_steps()


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (conf.POLL_MS, "99", None),
        (conf.POLL_MS, "100", 100),
        (conf.MAX_ATTEMPTS, "0", None),
        (conf.MAX_ATTEMPTS, "51", None),
        (conf.MAX_ATTEMPTS, "50", 50),
        (conf.STEPS, "shop.A, shop.B", ("shop.A", "shop.B")),
        (conf.STEPS, "shop.A,shop.A", None),
        (conf.STEPS, "shop.A,", None),
        (conf.STEPS, "Step", None),
        (conf.SNAPSHOT, "shop.erasure.snapshot", "shop.erasure.snapshot"),
        (conf.SNAPSHOT, "shop erasure", None),
        (conf.BILLING_URL, "ftp://x/y", None),
        (conf.BILLING_URL, "https://x/y", "https://x/y"),
        (conf.BILLING_AUDIT_DAYS, "3651", None),
        (conf.BILLING_AUDIT_DAYS, "0", 0),
    ],
)
def test_a_setting_is_parsed_or_refused_by_its_name(setting, text, value):
    if value is not None:
        assert setting.parse(text) == value
        return
    with pytest.raises(SettingError, match=setting.name):
        setting.parse(text)


def test_a_wrong_value_in_the_settings_is_a_line_of_the_check(settings):
    settings.USER_DELETION_MAX_ATTEMPTS = "five"

    (message,) = check_settings()

    assert message.id == "deletions.E001"
    assert "USER_DELETION_MAX_ATTEMPTS=five" in message.msg


@pytest.mark.parametrize("path", ["shop.nowhere.f", f"{SHOP}.nothing", f"{SHOP}.__name__"])
def test_a_snapshot_function_that_cannot_be_called_is_refused(settings, path):
    settings.USER_DELETION_SNAPSHOT = path

    assert [message.id for message in check_snapshot()] == ["deletions.E003"]


def test_the_defaults_pass_all_checks():
    assert not [*check_settings(), *check_steps(), *check_snapshot(), *check_billing()]


def test_the_package_offers_its_names_and_no_others():
    assert set(deletions.__all__) == {
        "Skipped",
        "StepCall",
        "cancel",
        "delete_bucket",
        "request",
    }
    assert all(callable(getattr(deletions, name)) for name in deletions.__all__)
    with pytest.raises(AttributeError):
        _ = deletions.nothing


@pytest.mark.django_db
def test_rows_that_hold_others_come_before_what_they_hold():
    found = references(get_user_model())

    names = [reference.model.__name__ for reference in found]
    assert names.index("Refund") < names.index("Order")
    actions = {reference.model.__name__: reference.action for reference in found}
    assert actions["Invoice"] is Action.BLOCK
    assert actions["Review"] is Action.CLEAR
    assert actions["Order"] is actions["Circle_members"] is Action.DELETE


class Halfless:
    name = "halfless"
    half = "outside"
    left_behind = "all"

    def run(self, call: object) -> None:
        """Do nothing."""


class Nameless(Halfless):
    name = ""
    half = "local"


class AlsoNewsletter(Halfless):
    name = "newsletter"
    half = "local"
