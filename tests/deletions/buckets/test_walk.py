"""A walk over a list in memory: what ends, what is counted, what is listed again."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletions.buckets.errors import RefusedBatchesError
from deletions.buckets.walk import Listed, Stuck, Walk
from jobs.objectstore import BatchResult, FailedKey

PAGE = 3
SIZES = st.integers(0, 25)


class Shelf:
    """A store of three keys a page; refuses some keys and lies about others."""

    def __init__(self, keys, *, refused=(), kept=(), code="AccessDenied") -> None:
        self.keys = set(keys)
        self.refused, self.kept, self.code = set(refused), set(kept), code
        self.listings = self.deletions = 0

    def page(self, after):
        self.listings += 1
        found = sorted(key for key in self.keys if after is None or key > after)
        is_last = len(found) <= PAGE
        return Listed(items=found[:PAGE], next=None if is_last else found[PAGE - 1])

    def delete(self, items):
        self.deletions += 1
        errors = [FailedKey(key=key, code=self.code) for key in items if key in self.refused]
        self.keys -= set(items) - self.refused - self.kept
        return BatchResult(
            deleted=tuple(key for key in items if key not in self.refused), errors=tuple(errors)
        )

    def cursor(self, item):
        return item

    def key(self, item):
        return item


class Count:
    """What a walk reports."""

    def __init__(self) -> None:
        self.gone, self.reports = 0, []

    def confirm(self, gone, found):
        self.gone += gone
        self.reports.append((gone, found))


def walked(shelf, known=(), **options):
    stuck, count = Stuck(), Count()
    Walk(shelf, stuck, count, **options).run(known)
    return stuck, count


def named(count):
    return [f"{number:03}" for number in range(count)]


def pages(keys):
    return [keys[place : place + PAGE] for place in range(0, len(keys), PAGE)]


@given(size=SIZES, known=SIZES, marks=st.lists(st.sampled_from("-rk"), min_size=25, max_size=25))
def test_all_goes_but_what_is_refused_or_kept_and_only_that_is_not_counted(size, known, marks):
    keys = named(size)
    refused = {key for key, mark in zip(keys, marks, strict=False) if mark == "r"}
    kept = {key for key, mark in zip(keys, marks, strict=False) if mark == "k"}
    shelf = Shelf(keys, refused=refused, kept=kept)

    stuck, count = walked(shelf, pages(keys[:known]))

    assert shelf.keys == refused | kept
    assert count.gone == len(set(keys) - refused - kept)
    assert stuck.count == len(refused | kept)
    assert {failed.key for failed in stuck.first} <= refused | kept
    assert {failed.code for failed in stuck.first if failed.key in kept} <= {"StillListed"}


@given(size=SIZES, kept=st.booleans())
def test_a_walk_ends_within_a_few_requests_for_each_page(size, kept):
    keys = named(size)
    shelf = Shelf(keys, kept=keys if kept else ())

    walked(shelf)

    count = size // PAGE + 1
    assert shelf.deletions <= count
    assert shelf.listings <= 2 * count + 1


def test_what_was_listed_before_is_not_listed_again_while_listing_is_dear():
    keys = named(30)
    shelf = Shelf(keys)
    time = itertools.count()  # each look at the clock takes as long as a listing

    stuck, count = walked(shelf, pages(keys), clock=time.__next__)

    assert (shelf.keys, count.gone, stuck.count) == (set(), 30, 0)
    assert shelf.deletions == 10
    assert shelf.listings < 6


def test_a_key_that_comes_meanwhile_is_found():
    shelf = Shelf(named(4))
    delete = shelf.delete

    def delete_and_add(items):
        result = delete(items)
        if shelf.deletions == 1:
            shelf.keys.add("000-late")
        return result

    shelf.delete = delete_and_add

    _, count = walked(shelf)

    assert (shelf.keys, count.gone) == (set(), 5)


def test_a_store_that_refuses_batch_after_batch_for_now_is_left_in_peace():
    keys = named(60)
    shelf = Shelf(keys, refused=keys, code="SlowDown")

    stuck = Stuck()
    with pytest.raises(RefusedBatchesError):
        Walk(shelf, stuck, Count()).run()

    assert shelf.deletions == 3
    assert stuck.count == 9


def test_what_is_denied_is_gone_past_however_much_it_is():
    keys = named(60)
    shelf = Shelf(keys, refused=keys[:57])

    stuck, count = walked(shelf)

    assert (count.gone, stuck.count) == (3, 57)
    assert len(stuck.first) == 20
