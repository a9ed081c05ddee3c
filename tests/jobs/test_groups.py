"""The console's groups: who may what."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission

from jobs.groups import (
    ADMINISTRATOR,
    OBSERVER,
    OPERATOR,
    config_models,
    console_groups,
    is_operators,
)
from jobs.models import AuditLog
from tests.factories import UserFactory
from tests.jobs.commanding import manage
from tests.testapp.models import Delivery

NAMES = (OBSERVER, OPERATOR, ADMINISTRATOR)
VERBS = {
    "jobs.run_job",
    "jobs.pause_job",
    "jobs.cancel_job",
    "jobs.acknowledge_alert",
    "emails.retry_emailjob",
    "emails.cancel_emailjob",
}


@pytest.fixture
def may() -> dict[str, frozenset[str]]:
    return {group.name: group.permissions for group in console_groups()}


def held(name: str) -> set[str]:
    rows = Permission.objects.filter(group__name=name).select_related("content_type")
    return {f"{row.content_type.app_label}.{row.codename}" for row in rows}


def test_an_observer_sees_every_page_and_neither_outputs_nor_bodies(may) -> None:
    assert {
        "jobs.view_jobrun",
        "jobs.view_jobstate",
        "jobs.view_alert",
        "jobs.view_worker",
        "jobs.view_activitylog",
        "jobs.view_auditlog",
        "emails.view_emailjob",
    } <= may[OBSERVER]
    assert (
        not {
            "jobs.view_run_output",
            "emails.view_body",
            "emails.view_emailbody",
        }
        & may[OBSERVER]
    )


def test_an_observer_may_change_nothing(may) -> None:
    assert {name.partition(".")[2].partition("_")[0] for name in may[OBSERVER]} == {"view"}


def test_an_operator_has_the_verbs_and_sees_outputs_but_no_bodies(may) -> None:
    assert may[OBSERVER] < may[OPERATOR]
    assert {*VERBS, "jobs.view_run_output"} <= may[OPERATOR]
    assert "emails.view_body" not in may[OPERATOR]


@pytest.mark.parametrize(
    ("permission", "is_theirs"),
    [
        ("shop.retry_parcel", True),
        ("realtime.replay_webhook", True),
        ("jobs.view_run_output", True),
        ("emails.view_body", False),
        ("jobs.discard_deadletter", False),
        ("emails.suppress_address", False),
    ],
)
def test_a_verb_that_loses_nothing_is_an_operators_by_its_first_word(permission, is_theirs) -> None:
    assert is_operators(permission) is is_theirs


def test_an_administrator_sees_bodies_too(may) -> None:
    assert may[OPERATOR] < may[ADMINISTRATOR]
    assert "emails.view_body" in may[ADMINISTRATOR]


def test_sign_in_links_users_and_business_tables_are_nobodys(may) -> None:
    for name in NAMES:
        apps = {permission.partition(".")[0] for permission in may[name]}
        assert not apps & {"auth", "signin", "jobs_signin", "testapp", "admin"}


def test_a_model_that_says_so_is_configuration_of_administrators() -> None:
    class DeliveryAdmin(admin.ModelAdmin):
        console_config = True

    admin.site.register(Delivery, DeliveryAdmin)
    try:
        found = {group.name: group.permissions for group in console_groups()}
        assert Delivery in config_models()
    finally:
        admin.site.unregister(Delivery)

    assert {"testapp.change_delivery", "testapp.delete_delivery"} <= found[ADMINISTRATOR]
    assert not [name for name in found[OPERATOR] if name.startswith("testapp.")]


@pytest.mark.django_db
def test_the_command_creates_the_groups_with_their_permissions(may) -> None:
    ended = manage("console_groups")

    assert ended.code == 0
    assert ended.lines[0].split()[:2] == ["GROUP", "PERMISSIONS"]
    assert [line.split()[0] for line in ended.lines[1:]] == list(NAMES)
    assert {name: held(name) for name in NAMES} == may


@pytest.mark.django_db
def test_a_user_of_a_group_has_its_permissions() -> None:
    manage("console_groups")
    anna = UserFactory()
    anna.groups.add(Group.objects.get(name=OPERATOR))

    assert anna.has_perm("jobs.run_job")
    assert not anna.has_perm("emails.view_body")


@pytest.mark.django_db
def test_a_second_call_changes_nothing_and_is_not_audited() -> None:
    manage("console_groups")

    again = manage("console_groups", "--json").json

    assert [(item["added"], item["removed"], item["created"]) for item in again["items"]] == [
        ([], [], False)
    ] * 3
    entry = AuditLog.objects.get()
    assert (entry.verb, entry.target, entry.via) == ("console_groups", "auth_group", "command")
    assert entry.actor.startswith("cli:")


@pytest.mark.django_db
def test_an_update_takes_what_is_the_consoles_and_leaves_what_is_yours() -> None:
    manage("console_groups")
    observer = Group.objects.get(name=OBSERVER)
    for app_label, codename in (("jobs", "run_job"), ("testapp", "view_parcel")):
        observer.permissions.add(
            Permission.objects.get(content_type__app_label=app_label, codename=codename)
        )
    Permission.objects.get(codename="view_alert").delete()

    refused = manage("console_groups")
    Permission.objects.create(
        codename="view_alert",
        name="Can view alert",
        content_type=Permission.objects.get(codename="acknowledge_alert").content_type,
    )
    updated = manage("console_groups", "--json").json

    assert refused.code == 1
    assert "jobs.view_alert" in refused.err
    assert "manage.py migrate" in refused.err
    assert updated["items"][0]["removed"] == ["jobs.run_job"]
    assert "testapp.view_parcel" in held(OBSERVER)
    assert "jobs.view_alert" in held(OBSERVER)
