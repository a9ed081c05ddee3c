"""
What ``manage.py check`` says of the rows that are declared to be deleted.

retention.E001  a name is declared twice
retention.E002  an age column is not there, or is no time
retention.E003  an age column has no index that a batch could go by
retention.E004  a row is pointed at by a foreign key whose rows do not go along
retention.E005  a column that is looked up for each deleted row has no index
retention.E006  a setting is out of range
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core import checks
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, Model, Q

from jobs import pruning
from jobs.checks import out_of_range
from jobs.pruning import Prunable
from retention import conf
from retention.indexes import has_index_for, is_looked_up_by_index
from retention.relations import pointing_at
from retention.sessions import all_expired

Messages = Iterator[checks.CheckMessage]


def register() -> None:
    """Register the checks with Django."""
    checks.register(check_targets)
    checks.register(check_settings)


def check_targets(
    *, declared: Iterable[Prunable] | None = None, **_options: Any
) -> Sequence[checks.CheckMessage]:
    """Check every declaration on its own (retention.E001 to E005)."""
    found: list[checks.CheckMessage] = [
        checks.Error(str(duplicate), id="retention.E001")
        for duplicate in (*pruning.targets.duplicates, *pruning.expired.duplicates)
    ]
    for prunable in (*pruning.targets, *all_expired()) if declared is None else declared:
        for look in (check_age, check_pointing, check_along):
            found += look(prunable)
    return found


def check_settings(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse settings that are out of range (retention.E006)."""
    return out_of_range(conf.SETTINGS, check_id="retention.E006")


def check_age(prunable: Prunable) -> Messages:
    """An age column is a time, and an index leads to the old rows."""
    try:
        link, age = age_fields(prunable)
    except FieldDoesNotExist as error:
        yield _error(prunable, f"{prunable.age_column!r} is not there: {error}", number=2)
        return
    if not isinstance(age, DateTimeField):
        yield _error(
            prunable,
            f"{prunable.age_column!r} is no time.",
            hint="Ages are compared by a DateTimeField.",
            number=2,
        )
        return
    has_index = (
        has_index_for(prunable.model, age, rows=_fixed_rows(prunable))
        if link is None
        else link.primary_key
    )
    if not has_index:
        yield _error(
            prunable,
            f"no index begins with {prunable.age_column!r} for the rows that it names.",
            hint="Every batch would read the whole table. Add an index on that column; one with "
            "a condition helps only if the declared rows have the same condition.",
            number=3,
        )


def check_pointing(prunable: Prunable) -> Messages:
    """Whatever points at a deleted row goes along, or the database sees to it."""
    along = {(item.model, item.column) for item in prunable.along}
    pointing = [f for f in pointing_at(prunable.model) if (f.model, f.name) not in along]
    # What goes along is found by the key of the deleted row, so nothing follows it in turn.
    pointing += [field for item in prunable.along for field in pointing_at(item.model)]
    for field in pointing:
        yield _error(
            prunable,
            f"{field.model._meta.label}.{field.name} points at its rows.",
            hint="Let those rows go along, along=(Along(model=…, column=…),), or sweep them "
            "before by a target of their own, and let the database set such a key null.",
            number=4,
        )


def check_along(prunable: Prunable) -> Messages:
    """What goes along is found by an index, and names the deleted row by its key."""
    for item in prunable.along:
        name = f"{item.model._meta.label}.{item.column}"
        try:
            field: Any = item.model._meta.get_field(item.column)
        except FieldDoesNotExist as error:
            yield _error(prunable, f"{name} is not there: {error}", number=4)
            continue
        if field.is_relation and not _names_rows_of(field, prunable.model):
            yield _error(
                prunable,
                f"{name} does not name its rows by their key.",
                hint="By other values other rows would go along.",
                number=4,
            )
        if not is_looked_up_by_index(item.model, field):
            yield _error(
                prunable,
                f"{name} has no index.",
                hint="Each deleted row would read that whole table.",
                number=5,
            )


def _names_rows_of(field: Any, model: type[Model]) -> bool:
    is_there = field.remote_field.model._meta.concrete_model is model._meta.concrete_model
    return is_there and field.target_field.primary_key


def age_fields(prunable: Prunable) -> tuple[Any, Any]:
    """
    Return the key that leads to the row whose age counts, None for the row itself; and the age.

    Raises ``FieldDoesNotExist``.
    """
    link_name, separator, age_name = prunable.age_column.partition("__")
    options = prunable.model._meta
    if not separator:
        return None, options.get_field(link_name)
    link: Any = options.get_field(link_name)
    if not link.is_relation:
        raise FieldDoesNotExist(f"{options.label}.{link_name} is no foreign key")
    return link, link.remote_field.model._meta.get_field(age_name)


def _fixed_rows(prunable: Prunable) -> Q:
    """Return the condition where it is a constant: a function may ask the database."""
    rows = prunable.rows
    return rows if isinstance(rows, Q) else Q()


def _error(
    prunable: Prunable, problem: str, *, number: int, hint: str | None = None
) -> checks.Error:
    message = f"The retention target {prunable.name}: {problem}"
    return checks.Error(message, hint=hint, obj=prunable.model, id=f"retention.E{number:03}")
