"""
Filters for big tables. Their choices come from code, never from the rows.

A field name in ``list_filter`` would read the distinct values of the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet, TextChoices
from django.http import HttpRequest

from jobs.admin.search import whole_number
from jobs.declarations import registry
from jobs.reads.bounded import bounded
from jobs.reads.same_error import runs_failed_like
from jobs.reads.since import RANGES, since_filter

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList


RANGE_WORDS = {"15m": "15 minutes", "1h": "1 hour", "24h": "24 hours", "7d": "7 days"}
ANY_TIME = "all"


class ConditionFilter(admin.SimpleListFilter):
    """Named conditions; each should have an index that finds its rows."""

    conditions: ClassVar[Mapping[str, tuple[str, Q]]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, words) for name, (words, _) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen is None:
            return queryset
        if chosen not in self.conditions:
            raise IncorrectLookupParameters(f"{self.parameter_name}={chosen}")
        return queryset.filter(self.conditions[chosen][1])


class SinceFilter(admin.SimpleListFilter):
    """How far back the list goes, by the database's clock."""

    title = "time"
    parameter_name = "since"
    column: ClassVar[str]
    default: ClassVar[str] = ANY_TIME

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*RANGE_WORDS.items(), (ANY_TIME, "any time")]

    def value(self) -> str:
        return super().value() or self.default

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen == ANY_TIME:
            return queryset
        if chosen not in RANGES:
            raise IncorrectLookupParameters(f"since={chosen}")
        return since_filter(queryset, self.column, RANGES[chosen])

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        # Without the stock entry "All", which would mean the default here.
        for name, words in self.lookup_choices:
            yield {
                "selected": self.value() == name,
                "query_string": changelist.get_query_string({"since": name}),
                "display": words,
            }


class JobFilter(admin.SimpleListFilter):
    """The declared jobs, and whatever id a link names."""

    title = "job"
    parameter_name = "job"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        ids = [declared.id for declared in registry]
        given = request.GET.get("job")
        if given and given not in ids:
            ids.append(given)
        return [(job_id, job_id) for job_id in ids]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        return queryset.filter(job_id=chosen) if chosen else queryset


class RunLinkFilter(admin.SimpleListFilter):
    """Rows that have to do with one run; offered only by a link that names the run."""

    parameter_name: str
    words: ClassVar[str]  # before the run's number

    def narrowed(self, rows: QuerySet[Any], run_id: int) -> QuerySet[Any]:
        """Return the rows of the run."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        given = request.GET.get(self.parameter_name)
        return [(given, f"{self.words} {given}")] if given else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen is None:
            return queryset
        number = whole_number(chosen)
        if number is None:
            raise IncorrectLookupParameters(f"{self.parameter_name}={chosen}")
        return self.narrowed(queryset, number)


class RunFilter(RunLinkFilter):
    """The lines of one run."""

    title = "run"
    parameter_name = "run"
    words = "run"

    def narrowed(self, rows: QuerySet[Any], run_id: int) -> QuerySet[Any]:
        return rows.filter(run_id=run_id)


class SameErrorFilter(RunLinkFilter):
    """The runs that failed as one did."""

    title = "same error"
    parameter_name = "same_error"
    words = "as of run"

    def narrowed(self, rows: QuerySet[Any], run_id: int) -> QuerySet[Any]:
        with bounded():
            return rows.filter(pk__in=runs_failed_like(run_id).run_ids)


def choices_filter(
    column: str, choices: type[TextChoices], *, extra: Mapping[str, tuple[str, Q]] | None = None
) -> type[ConditionFilter]:
    """Return a filter on a column with the choices of an enum, and further conditions."""
    conditions = {
        **(extra or {}),
        **{item.value: (str(item.label), Q(**{column: item.value})) for item in choices},
    }
    attributes = {"title": column, "parameter_name": column, "conditions": conditions}
    return type(f"{choices.__name__}Filter", (ConditionFilter,), attributes)


def since(column: str, *, default: str = ANY_TIME) -> type[SinceFilter]:
    """Return a time filter on an indexed column."""
    return type("ColumnSinceFilter", (SinceFilter,), {"column": column, "default": default})
