"""System checks of declared rows, by their ids."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.db import models
from django.db.models import Q
from django.test.utils import isolate_apps

from jobs import pruning
from jobs.models import ActivityLog, Alert, JobRun
from jobs.pruning import Along, Declared, RetentionTarget, declare_target
from retention.checks import check_settings, check_targets
from retention.indexes import is_implied
from retention.sessions import all_expired


def target(model: type[models.Model], age_column: str, **fields) -> RetentionTarget:
    return RetentionTarget(
        name="shop.rows", label="Rows", model=model, age_column=age_column, **fields
    )


def ids(item: RetentionTarget) -> list[str]:
    return [message.id for message in check_targets(declared=[item])]


def test_what_ships_has_no_errors() -> None:
    found = [message for message in run_checks() if str(message.id).startswith("retention.")]

    assert found == []
    assert len(pruning.targets) >= 8
    assert "sessions" in [rows.name for rows in all_expired()]


def test_e001_a_name_declared_twice_is_an_error_and_no_crash_at_import(monkeypatch) -> None:
    monkeypatch.setattr(pruning, "targets", Declared())
    for label in ("Carts", "Trolleys"):
        declare_target(name="shop.carts", label=label, model=Alert, age_column="resolved_at")

    (message,) = check_targets(declared=[])

    assert message.id == "retention.E001"
    assert "'shop.carts' is declared twice" in message.msg


def test_e002_an_age_column_that_is_not_there_is_named() -> None:
    (message,) = check_targets(declared=[target(Alert, "closed_at")])

    assert message.id == "retention.E002"
    assert "closed_at" in message.msg


def test_e002_an_age_is_a_time() -> None:
    assert ids(target(Alert, "rule")) == ["retention.E002"]


def test_e003_an_age_without_an_index_would_read_the_whole_table_for_each_batch() -> None:
    (message,) = check_targets(declared=[target(Alert, "opened_at")])

    assert message.id == "retention.E003"
    assert "'opened_at'" in message.msg


@isolate_apps("tests.testapp")
@pytest.mark.parametrize(
    ("index", "is_enough"),
    [
        (models.Index(fields=["at"], name="by_at"), True),
        (models.Index(fields=["-at", "kind"], name="by_at"), True),
        (models.Index(models.F("at").desc(), name="by_at"), True),
        (models.Index(fields=["kind", "at"], name="by_at"), False),
        (models.Index(fields=["at"], name="by_at", condition=Q(kind="done")), True),
        (models.Index(fields=["at"], name="by_at", condition=Q(kind="open")), False),
        (models.Index(fields=["at"], name="by_at", condition=Q(kind="done", size=1)), False),
    ],
)
def test_e003_an_index_helps_that_begins_with_the_age_and_holds_the_rows(index, is_enough) -> None:
    class Parcel(models.Model):
        at = models.DateTimeField()
        kind = models.TextField()
        size = models.IntegerField()

        class Meta:
            app_label = "testapp"
            indexes = [index]

    found = ids(target(Parcel, "at", rows=Q(kind="done")))

    assert found == ([] if is_enough else ["retention.E003"])


@isolate_apps("tests.testapp")
def test_e003_rows_that_a_function_names_need_an_index_of_all_rows() -> None:
    class Parcel(models.Model):
        at = models.DateTimeField()
        kind = models.TextField()

        class Meta:
            app_label = "testapp"
            indexes = [models.Index(fields=["at"], name="by_at", condition=Q(kind="done"))]

    assert ids(target(Parcel, "at", rows=lambda: Q(kind="done"))) == ["retention.E003"]


@isolate_apps("tests.testapp")
def test_e004_and_e005_what_points_at_a_deleted_row_goes_along_by_an_index() -> None:
    class Parcel(models.Model):
        at = models.DateTimeField(db_index=True)

        class Meta:
            app_label = "testapp"

    class Label(models.Model):
        parcel = models.ForeignKey(Parcel, on_delete=models.CASCADE, db_index=False)

        class Meta:
            app_label = "testapp"

    class Stamp(models.Model):
        label = models.ForeignKey(Label, on_delete=models.PROTECT)

        class Meta:
            app_label = "testapp"

    (left,) = check_targets(declared=[target(Parcel, "at")])
    along = check_targets(
        declared=[target(Parcel, "at", along=(Along(model=Label, column="parcel"),))]
    )

    assert left.id == "retention.E004"
    assert "testapp.Label.parcel points at its rows" in left.msg
    assert [(message.id, message.msg.partition(": ")[2]) for message in along] == [
        ("retention.E004", "testapp.Stamp.label points at its rows."),
        ("retention.E005", "testapp.Label.parcel has no index."),
    ]


@isolate_apps("tests.testapp")
def test_e004_what_goes_along_names_the_deleted_row_and_no_other() -> None:
    class Parcel(models.Model):
        at = models.DateTimeField(db_index=True)
        code = models.TextField(unique=True)

        class Meta:
            app_label = "testapp"

    class Label(models.Model):
        code = models.ForeignKey(Parcel, to_field="code", on_delete=models.CASCADE)

        class Meta:
            app_label = "testapp"

    class Stamp(models.Model):
        label = models.ForeignKey(Label, on_delete=models.CASCADE)

        class Meta:
            app_label = "testapp"

    along = (Along(model=Label, column="code"), Along(model=Stamp, column="label"))
    found = check_targets(declared=[target(Parcel, "at", along=along)])

    assert [message.msg.partition(": ")[2] for message in found] == [
        "testapp.Stamp.label points at its rows.",
        "testapp.Label.code does not name its rows by their key.",
        "testapp.Stamp.label does not name its rows by their key.",
    ]


def test_e005_a_plain_number_that_names_the_row_needs_an_index_too() -> None:
    by_number = Along(model=ActivityLog, column="run_id")
    by_text = Along(model=ActivityLog, column="message")

    assert ids(target(JobRun, "created_at", along=(by_number,))) == []
    assert ids(target(JobRun, "created_at", along=(by_text,))) == ["retention.E005"]


def test_e006_a_setting_out_of_range_is_named(settings) -> None:
    settings.RETENTION_BATCH = 0

    (message,) = check_settings()

    assert message.id == "retention.E006"
    assert "RETENTION_BATCH=0" in message.msg


def test_only_what_the_rows_say_literally_implies_an_indexs_condition() -> None:
    rows = Q(status="done") & ~Q(kind="kept") & (Q(size=1) | Q(size=2))

    assert is_implied(None, rows)
    assert is_implied(Q(status__exact="done"), rows)
    assert is_implied(~Q(kind="kept"), rows)
    assert is_implied(Q(size=1) | Q(size=2), rows)
    assert not is_implied(Q(kind="kept"), rows)
    assert not is_implied(Q(size=1), rows)
