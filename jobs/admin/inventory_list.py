"""The list of jobs: rows of the inventory, filtered where they are, since they are few."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin.changelist import BoundedChangeList, KeyPage
from jobs.declarations import registry
from jobs.models import JobState
from jobs.reads.inventory import Inventory, JobItem, list_jobs
from jobs.reads.job_health import Health

# A job in one of these needs nobody.
QUIET = frozenset({Health.OK, Health.PAUSED})
NEEDS_A_LOOK = "look"


class ItemFilter(admin.SimpleListFilter):
    """Keeps some items of the inventory; the database has no say in it."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen is not None and chosen not in dict(self.lookup_choices):
            raise IncorrectLookupParameters(f"{self.parameter_name}={chosen}")
        return queryset

    def keeps(self, item: JobItem) -> bool:
        """Say whether an item has the chosen value, or none is chosen."""
        return self.value() is None or self.value() in self.values_of(item)

    def values_of(self, item: JobItem) -> tuple[str, ...]:
        """Return the choices that an item is found under."""
        raise NotImplementedError


class HealthFilter(ItemFilter):
    title = "health"
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            (NEEDS_A_LOOK, "needs a look"),
            *((_slug(health.value), health.value) for health in Health),
        ]

    def values_of(self, item: JobItem) -> tuple[str, ...]:
        health = _slug(item.health)
        return (health,) if item.health in QUIET else (health, NEEDS_A_LOOK)


class PackageFilter(ItemFilter):
    title = "package"
    parameter_name = "package"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        given = request.GET.get("package")
        names = {_package(declared.id) for declared in registry} | ({given} if given else set())
        return [(name, name) for name in sorted(names)]

    def values_of(self, item: JobItem) -> tuple[str, ...]:
        return (_package(item.id),)


class SourceFilter(ItemFilter):
    title = "cadence"
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("code", "in code"), ("data", "in data")]

    def values_of(self, item: JobItem) -> tuple[str, ...]:
        return (item.cadence.source,) if item.cadence else ()


class KindFilter(ItemFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("singleton", "singleton"), ("queue", "queue worker")]

    def values_of(self, item: JobItem) -> tuple[str, ...]:
        if not item.declared:
            return ()
        return ("singleton",) if item.singleton else ("queue",)


class InventoryChangeList(BoundedChangeList):
    """
    A row for every declared job and for every job that only the database knows.

    The rows are states that need not be stored: a job that never ran has none.
    """

    inventory: Inventory | None = None

    def read_page(self, request: HttpRequest) -> KeyPage:
        self.inventory = list_jobs()
        sought = self.query.strip().lower()
        filters: list[Any] = self.filter_specs
        return KeyPage(
            rows=tuple(
                _row(item)
                for item in self.inventory.items
                if sought in item.id.lower() and all(spec.keeps(item) for spec in filters)
            )
        )

    @property
    def no_worker(self) -> bool:
        """Whether it is known that no worker is alive."""
        return self.inventory is not None and not self.inventory.worker_alive

    @property
    def history_slow(self) -> bool:
        """Whether the cells of history are empty because it took too long."""
        return self.inventory is not None and self.inventory.history_slow


def _row(item: JobItem) -> Any:
    row: Any = JobState(job_id=item.id)
    row.item = item
    return row


def _package(job_id: str) -> str:
    return job_id.partition(".")[0]


def _slug(words: str) -> str:
    return words.replace(" ", "-")
