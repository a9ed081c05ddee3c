"""The user's rows: every kind of key, big accounts, and keys that do not let go."""

from __future__ import annotations

import threading

import psutil
import psycopg
import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import signals
from psycopg import sql

import deletions
from deletions.errors import BlockedByKeyError
from deletions.local import count_rows
from deletions.rows import LARGEST, RowEraser, Size
from jobs.alerts.movement import declared_progress
from tests.deletions.conftest import is_gone
from tests.deletions.shop.models import (
    Circle,
    Comment,
    Contract,
    Document,
    Line,
    Order,
    Refund,
    Review,
    Tag,
)
from tests.factories import UserFactory
from tests.forms import FULL

MANY = 300_000 if FULL else 20_000


def erase(user) -> int:
    counted: list[int] = []
    assert RowEraser(on_rows=counted.append).erase(type(user), user.pk)
    return sum(counted)


def test_rows_go_by_the_rules_of_their_keys(user):
    other = UserFactory()
    for owner in (user, other):
        order = Order.objects.create(user=owner)
        Line.objects.create(order=order)
        Tag.objects.create(target=order)
        Refund.objects.create(user=owner, order=order)
        Review.objects.create(author=owner)
        Contract.objects.create(user=owner, title="lease")
        Circle.objects.create().members.add(owner)
        owner.groups.add(Group.objects.get_or_create(name="readers")[0])

    erase(user)

    assert is_gone(user)
    for model in (Order, Line, Tag, Refund, Contract, Document):
        assert model.objects.count() == 1, model
    assert sorted(Review.objects.values_list("author", flat=True), key=bool) == [None, other.pk]
    assert [circle.members.count() for circle in Circle.objects.order_by("pk")] == [0, 1]
    assert Group.objects.get().user_set.count() == 1
    other.refresh_from_db()


def test_a_deep_tree_and_a_circle_of_comments_go(user):
    parent = Comment.objects.create(user=user)
    for _ in range(60):
        parent = Comment.objects.create(parent=parent)
    a = Comment.objects.create(user=user)
    b = Comment.objects.create(user=user, parent=a)
    Comment.objects.filter(pk=a.pk).update(parent=b)

    erase(user)

    assert not Comment.objects.exists()


def test_an_account_with_more_than_one_batch_is_counted_row_by_row(user):
    Order.objects.bulk_create(Order(user=user) for _ in range(LARGEST + 300))
    Line.objects.bulk_create(
        Line(order_id=key) for key in Order.objects.values_list("pk", flat=True)
    )

    longest: list[int] = []

    def measure(execute, statement, parameters, *rest):
        longest.append(len(parameters or ()))
        return execute(statement, parameters, *rest)

    assert count_rows(user.pk) == LARGEST + 300 + 1
    with connection.execute_wrapper(measure):
        assert erase(user) == 2 * (LARGEST + 300) + 1
    # However many rows there are, no statement names more of them.
    assert LARGEST // 2 < max(longest) <= LARGEST + 5
    assert not Order.objects.exists()


def test_listeners_of_single_rows_are_told_of_each(user):
    Order.objects.bulk_create(Order(user=user) for _ in range(5))
    told: list[int] = []

    def listen(sender, instance, **_: object) -> None:
        told.append(instance.pk)

    signals.post_delete.connect(listen, sender=Order)
    try:
        erase(user)
    finally:
        signals.post_delete.disconnect(listen, sender=Order)

    assert len(told) == 5


def test_a_key_that_django_does_not_know_is_named(user):
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE legacy_badges (owner integer CONSTRAINT legacy_badges_owner_key"
            " REFERENCES auth_user ON DELETE RESTRICT)"
        )
        cursor.execute("INSERT INTO legacy_badges VALUES (%s)", [user.pk])
    try:
        with pytest.raises(BlockedByKeyError, match="legacy_badges_owner_key") as caught:
            erase(user)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE legacy_badges")

    assert caught.value.table == "legacy_badges"
    assert not is_gone(user)


def test_rows_that_somebody_else_has_locked_for_a_moment_are_deleted_after_that(
    transactional_db, user
):
    order = Order.objects.create(user=user)
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        parameters = connection.get_connection_params()
        parameters.pop("cursor_factory", None)
        parameters.pop("context", None)
        with psycopg.connect(**parameters) as own:
            own.execute("SELECT FROM shop_order WHERE id = %s FOR UPDATE", [order.pk])
            locked.set()
            release.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert locked.wait(20)
    timer = threading.Timer(0.8, release.set)
    timer.start()

    erase(user)

    thread.join()
    assert is_gone(user)


def test_a_batch_that_took_long_makes_the_next_one_smaller_and_never_too_big():
    size = Size()
    for _ in range(20):
        size.took(0.001)
    assert size.rows == LARGEST
    size.took(2.0)
    assert size.rows == LARGEST // 2
    assert size.missed()
    assert size.rows == LARGEST // 4
    tried_on = [size.missed() for _ in range(20)]
    assert not all(tried_on)


class Watch(threading.Thread):
    """Looks at the server's own view of the transactions, and at the progress."""

    def __init__(self, deletion_id: int) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.seen: set[int] = set()
        self.totals: set[int] = set()
        self.looks = 0
        self.peak = 0
        self._deletion_id = deletion_id
        self._end = threading.Event()
        self._parameters = connection.get_connection_params()
        for name in ("cursor_factory", "context"):
            self._parameters.pop(name, None)

    def run(self) -> None:
        with psycopg.connect(**self._parameters, autocommit=True) as own:
            while not self._end.wait(0.02):
                self._look(own)

    def stop(self) -> None:
        self._end.set()
        self.join(20)

    def _look(self, own: psycopg.Connection) -> None:
        self.looks += 1
        self.peak = max(self.peak, psutil.Process().memory_info().rss)
        row = own.execute(
            "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)"
            " FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
        ).fetchone()
        self.longest = max(self.longest, float(row[0]))
        found = own.execute(
            sql.SQL("SELECT rows_deleted, rows_total FROM user_deletions WHERE id = {}").format(
                self._deletion_id
            )
        ).fetchone()
        self.seen.add(found[0])
        if found[1] is not None:
            self.totals.add(found[1])


@pytest.mark.timeout(600 if FULL else 60)
def test_a_big_account_takes_flat_memory_and_short_transactions_and_shows_its_progress(
    user, work, capsys
):
    half = MANY // 2
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO shop_order (user_id) SELECT %s FROM generate_series(1, %s)",
            [user.pk, half],
        )
        cursor.execute("INSERT INTO shop_line (order_id) SELECT id FROM shop_order")
        cursor.execute("ANALYZE shop_order, shop_line")
    deletion = deletions.request(user, requested_by=user)
    watch = Watch(deletion.pk)
    work_on = threading.Event()
    noted: list[object] = []

    def note() -> None:
        while not work_on.wait(0.05):
            noted.append(declared_progress("user_deletions"))
        connection.close()

    noting = threading.Thread(target=note)
    watch.start()
    noting.start()
    before = psutil.Process().memory_info().rss
    try:
        work()
    finally:
        work_on.set()
        noting.join(20)
        watch.stop()

    deletion.refresh_from_db()
    with capsys.disabled():
        grown = (watch.peak - before) / 1e6
        print(f"  [rows={MANY}, grown_mb={grown:.1f}, longest_s={watch.longest:.3f}]")
    assert deletion.status == "done"
    assert is_gone(user)
    assert deletion.rows_deleted == deletion.rows_total >= MANY + 1
    assert watch.looks > 10
    assert watch.longest < 1
    # Django's own cascade takes 130 MB for the full form.
    assert grown < 40
    between = {number for number in watch.seen if 0 < number < MANY}
    assert len(between) >= (10 if FULL else 1)
    assert min(watch.totals) >= half
    assert len({str(each) for each in noted}) > 1


def test_a_stop_ends_it_between_batches_and_the_next_try_goes_on(user):
    Order.objects.bulk_create(Order(user=user) for _ in range(1200))
    counted: list[int] = []
    eraser = RowEraser(on_rows=counted.append, should_stop=lambda: bool(counted))

    assert not eraser.erase(type(user), user.pk)

    left = Order.objects.count()
    assert 0 < left < 1200
    assert left + sum(counted) == 1200
    erase(user)
    assert is_gone(user)
