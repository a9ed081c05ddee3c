"""Uploads in the admin, and ``manage.py uploads``."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.models import AuditLog
from retention.models import UploadReservation
from tests.factories import UserFactory, give
from tests.factories.uploads import UploadReservationFactory
from tests.jobs.commanding import manage
from tests.retention.uploads.conftest import expire

LIST = "/admin/retention/uploadreservation/"
RELEASE = f"{LIST}verb/release/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def anna() -> Client:
    client = Client()
    client.force_login(UserFactory(username="anna", is_superuser=True))
    return client


@pytest.fixture
def rows() -> dict[str, UploadReservation]:
    """Return one reservation in each state."""
    overdue = UploadReservationFactory(owner="otto")
    expire(overdue.pk)
    return {
        "overdue": overdue,
        "pending": UploadReservationFactory(),
        "completing": UploadReservationFactory(finalising=True),
        "completed": UploadReservationFactory(kept=True),
        "expiring": UploadReservationFactory(expiring=True),
        "stuck": UploadReservationFactory(stuck=True),
    }


def uploads(*arguments: object):
    return manage("uploads", *arguments, app="retention")


def text_of(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def test_an_empty_list_says_so(anna):
    assert "Nothing is reserved, and nothing was kept yet." in text_of(anna.get(LIST))


def test_the_list_shows_each_state_in_words_and_the_error(anna, rows):
    text = text_of(anna.get(LIST))

    words = ("reserved", "expired", "being finalised", "kept", "being released", "not released")
    for word in words:
        assert word in text
    assert "AccessDenied" in text
    assert "3.3\xa0MB" in text or "3.3 MB" in text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?status=pending", {"pending", "overdue"}),
        ("?status=completing", {"completing"}),
        ("?status=completed", {"completed"}),
        ("?status=expiring", {"expiring", "stuck"}),
        ("?status=stuck", {"stuck"}),
        ("?q=owner:otto", {"overdue"}),
    ],
)
def test_each_filter_shows_exactly_its_reservations(anna, rows, query, names):
    response = anna.get(LIST + query)

    shown = {row.pk for row in response.context["cl"].result_list}
    assert shown == {rows[name].pk for name in names}


def test_each_page_says_what_there_is_to_know(anna, rows):
    for name, row in rows.items():
        text = text_of(anna.get(f"{LIST}{row.pk}/change/"))
        assert row.key in text
        assert row.filename in text
        assert ("verb/release" in text) == (name in ("pending", "overdue"))
    stuck = text_of(anna.get(f"{LIST}{rows['stuck'].pk}/change/"))
    assert "AccessDenied: not permitted" in stuck
    assert "The quota is kept" in stuck


def test_releasing_asks_a_reason_and_leaves_an_audit_row(anna, rows):
    row = rows["pending"]
    assert "within five minutes" in text_of(anna.get(f"{RELEASE}?ids={row.pk}"))

    without = anna.post(RELEASE, {"ids": row.pk, "reason": ""})
    anna.post(RELEASE, {"ids": row.pk, "reason": "a mistake"})
    anna.post(RELEASE, {"ids": row.pk, "reason": "a mistake"})

    assert "Say why" in without.content.decode()

    row.refresh_from_db()
    assert row.status == "expiring"
    audit = AuditLog.objects.get(verb="release")
    assert (audit.actor, audit.target) == ("anna", f"upload_reservations {row.pk}")
    assert audit.reason == "a mistake"


def test_releasing_leaves_alone_what_is_not_pending(anna, rows):
    ids = ",".join(str(row.pk) for row in rows.values())

    anna.post(RELEASE, {"ids": ids, "reason": "all of them"})

    assert UploadReservation.objects.filter(status="pending").count() == 0
    rows["completed"].refresh_from_db()
    rows["completing"].refresh_from_db()
    assert (rows["completed"].status, rows["completing"].status) == ("completed", "completing")


def test_nobody_releases_without_the_permission(rows):
    user = UserFactory(username="otto")
    give(user, "retention.view_uploadreservation")
    client = Client()
    client.force_login(user)

    assert "verb/release" not in text_of(client.get(f"{LIST}{rows['pending'].pk}/change/"))
    answer = client.post(RELEASE, {"ids": rows["pending"].pk, "reason": "because"})

    assert answer.status_code == 403
    rows["pending"].refresh_from_db()
    assert rows["pending"].status == "pending"


def test_the_command_lists_what_the_page_shows(rows):
    ended = uploads("list")

    assert ended.code == 0
    assert ended.lines[0].split()[:3] == ["ID", "OWNER", "FILE"]
    assert len([line for line in ended.lines if "holiday-" in line]) == 6
    assert "stuck" in ended.out
    assert "3.3 MB" in ended.out


def test_the_list_as_json_has_the_names_of_the_page(rows):
    items = uploads("list", "--json", "--state", "stuck").json["items"]

    (item,) = items
    assert item["id"] == rows["stuck"].pk
    assert (item["state"], item["tries"], item["size"]) == ("stuck", 3, 3_500_000)
    assert item["admin_url"].endswith(f"{LIST}{item['id']}/change/")
    owned = uploads("list", "--json", "--owner", "otto").json["items"]
    assert [entry["id"] for entry in owned] == [rows["overdue"].pk]


def test_an_empty_list_is_told_in_words():
    assert "There is no such upload." in uploads("list").err


def test_the_command_releases_and_ends_with_1_for_what_it_left_alone(rows):
    ended = uploads("release", rows["pending"].pk, rows["completed"].pk, "--reason", "a mistake")

    assert ended.code == 1
    assert f"Upload reservation {rows['completed'].pk} is kept" in ended.err + ended.out
    rows["pending"].refresh_from_db()
    assert rows["pending"].status == "expiring"
    assert AuditLog.objects.get(verb="release").reason == "a mistake"
    again = uploads("release", "--json", rows["pending"].pk)
    assert (again.code, again.json["items"]) == (1, [])


def test_wrong_usage_ends_with_2(rows):
    assert uploads("list", "--state", "nonsense").code == 2
    assert uploads("release").code == 2
