"""The declaration of rows that are deleted when they are old."""

from __future__ import annotations

from django.db.models import Q

from jobs.pruning import Declared, RetentionTarget
from tests.testapp.models import Parcel


def target(name: str, **fields) -> RetentionTarget:
    known = {"label": "Parcels", "model": Parcel, "age_column": "created_at"}
    return RetentionTarget(name=name, **(known | fields))


def test_children_are_swept_before_their_parents() -> None:
    declared: Declared[RetentionTarget] = Declared()
    for name, order in (("shop.orders", 1), ("shop.lines", 0), ("shop.carts", 1)):
        declared.add(target(name, order=order))

    assert [item.name for item in declared] == ["shop.lines", "shop.carts", "shop.orders"]


def test_a_name_declared_twice_is_kept_out_and_no_crash_at_import() -> None:
    declared: Declared[RetentionTarget] = Declared()
    first = declared.add(target("shop.orders"))
    declared.add(target("shop.orders", label="Others"))

    assert declared.find("shop.orders") is first
    (duplicate,) = declared.duplicates
    assert "shop.orders" in str(duplicate)
    assert "testapp_parcels" in str(duplicate)


def test_the_same_declaration_read_again_is_no_second_one() -> None:
    declared: Declared[RetentionTarget] = Declared()
    declared.add(target("shop.orders"))
    declared.add(target("shop.orders"))

    assert declared.duplicates == []


def test_which_rows_may_go_can_be_asked_anew_for_each_run() -> None:
    asked = []

    def rows() -> Q:
        asked.append(1)
        return Q(status="done")

    item = target("shop.orders", rows=rows)

    assert item.condition() == item.condition() == Q(status="done")
    assert len(asked) == 2


def test_a_declaration_can_be_withdrawn() -> None:
    declared: Declared[RetentionTarget] = Declared()
    declared.add(target("shop.orders"))

    declared.remove("shop.orders")

    assert declared.find("shop.orders") is None
    assert len(declared) == 0
