"""Which migrations are not applied."""

from __future__ import annotations

import pytest

from jobs.health import database as database_module
from jobs.health.database import unapplied


@pytest.fixture
def on_disk(monkeypatch):
    """Let the code have these migrations, each with what it replaces."""
    known = {}
    monkeypatch.setattr(database_module, "_migrations_on_disk", lambda: known)
    return known


def test_migrations_that_are_not_applied_are_listed_in_order(on_disk):
    on_disk.update({("b", "1"): (), ("a", "2"): (), ("a", "1"): ()})

    assert unapplied({("a", "1"), ("long gone", "1")}) == [("a", "2"), ("b", "1")]


def test_a_squashed_migration_is_applied_with_all_that_it_replaces(on_disk):
    on_disk.update({("a", "squashed"): (("a", "1"), ("a", "2"))})

    assert unapplied({("a", "1"), ("a", "2")}) == []
    assert unapplied({("a", "1")}) == [("a", "squashed")]
    assert unapplied({("a", "squashed")}) == []


def test_a_squash_of_squashes_is_applied_with_the_first_of_all(on_disk):
    on_disk.update(
        {("a", "all"): (("a", "half"), ("a", "3")), ("a", "half"): (("a", "1"), ("a", "2"))}
    )

    assert unapplied({("a", "1"), ("a", "2"), ("a", "3")}) == []
