"""The pages of the site: /healthz and /readyz."""

from __future__ import annotations

import pytest
from django.urls import reverse


@pytest.mark.parametrize("method", ["get", "head"])
def test_the_site_answers_healthz_without_a_database(client, method):
    answer = getattr(client, method)(reverse("healthz"))

    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"


@pytest.mark.django_db
def test_the_site_answers_readyz(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get(reverse("readyz"))

    assert answer.status_code == 200
    assert answer.json()["ready"] is True


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["healthz", "readyz"])
def test_the_pages_are_never_cached_and_make_no_session(client, page):
    answer = client.get(reverse(page))

    assert "no-store" in answer["Cache-Control"]
    assert not answer.cookies


@pytest.mark.parametrize("page", ["healthz", "readyz"])
@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_the_pages_are_only_read(client, page, method):
    client.handler.enforce_csrf_checks = True

    answer = getattr(client, method)(reverse(page))

    assert answer.status_code == 405


def test_the_pages_are_at_the_root():
    assert (reverse("healthz"), reverse("readyz")) == ("/healthz", "/readyz")
