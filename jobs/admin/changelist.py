"""Lists that read one bounded page by key, whatever the size of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.http import HttpRequest

from jobs.admin.live import PARAMETER as LIVE
from jobs.admin.search import whole_number
from jobs.reads.bounded import bounded, expendable
from jobs.reads.counts import RowCount
from jobs.reads.errors import SlowReadError
from jobs.reads.paging import key_of

if TYPE_CHECKING:
    from jobs.admin.paginator import BoundedPaginator

BEFORE, AFTER = "before", "after"
SMALL_TABLE = 500


@dataclass(frozen=True, kw_only=True)
class KeyPage:
    """The rows of a page, newest first, and the keys at which its neighbours begin."""

    rows: tuple[Any, ...] = ()
    older_before: int | None = None
    newer_after: int | None = None


@dataclass(frozen=True, kw_only=True)
class DrawnFilter:
    """A filter with its choices, one of which is chosen."""

    title: str
    chosen: str
    is_active: bool
    choices: tuple[dict[str, Any], ...]


class BoundedChangeList(ChangeList):
    """
    A list whose reads have a time limit.

    A read that is stopped leaves the page standing, with its filters and a line that says
    what to narrow. Only declared filters are applied: any other parameter would be a
    look-up on any column, bodies among them.
    """

    page = KeyPage()
    row_count: RowCount | None = None  # None: counting took too long
    slow_words = ""

    def get_filters(self, request: HttpRequest) -> Any:
        found = super().get_filters(request)
        if found[2]:
            raise IncorrectLookupParameters(", ".join(sorted(found[2])))
        return found

    def get_filters_params(self, params: Any = None) -> Any:
        found = super().get_filters_params(params)
        for name in (BEFORE, AFTER, LIVE):
            found.pop(name, None)
        return found

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        # Another filter begins at its newest row.
        keyset = dict.fromkeys((BEFORE, AFTER))
        return super().get_query_string({**keyset, **(new_params or {})}, remove)

    def get_results(self, request: HttpRequest) -> None:
        self.paginator = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
        page: Any = self.model_admin
        try:
            with bounded(using=self.queryset.db, milliseconds=page.read_limit_ms):
                self.page = self.read_page(request)
                self.row_count = self._count()
        except SlowReadError as error:
            self.slow_words = str(error)
        self.result_list = list(self.page.rows)
        self.result_count = self.row_count.value if self.row_count else len(self.page.rows)
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = bool(self.page.rows)
        self.can_show_all = False
        self.multi_page = False

    def read_page(self, request: HttpRequest) -> KeyPage:
        """Read the rows of a table that is small by its nature."""
        del request
        return KeyPage(rows=tuple(self.queryset[:SMALL_TABLE]))

    @property
    def drawn_filters(self) -> list[DrawnFilter]:
        """The filters as the page draws them."""
        return [
            _drawn(spec, tuple(dict(choice) for choice in spec.choices(self)))
            for spec in self.filter_specs
        ]

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter or a search was given, so that there may be other rows."""
        return bool(self.has_active_filters or self.query)

    @property
    def count_words(self) -> str:
        """How many rows there are, in words."""
        page: Any = self.model_admin
        names = (str(self.opts.verbose_name), str(self.opts.verbose_name_plural))
        one, several = page.counted_as or names
        if self.row_count is None:
            return f"more {several} than could be counted in time"
        return f"{self.row_count} {one if str(self.row_count) == '1' else several}"

    @property
    def kept_params(self) -> list[tuple[str, str]]:
        """The filters that a search keeps."""
        dropped = (SEARCH_VAR, BEFORE, AFTER)
        return [(name, value) for name, value in self.params.items() if name not in dropped]

    @property
    def older_query(self) -> str:
        return self._neighbour(BEFORE, self.page.older_before)

    @property
    def newer_query(self) -> str:
        return self._neighbour(AFTER, self.page.newer_after)

    @property
    def newest_query(self) -> str:
        return self.get_query_string() if self.page.newer_after is not None else ""

    def _neighbour(self, name: str, key: int | None) -> str:
        return self.get_query_string({name: key}) if key is not None else ""

    def _count(self) -> RowCount | None:
        page = self.page
        if page.older_before is None and page.newer_after is None:
            return RowCount(value=len(page.rows))
        paginator: BoundedPaginator = self.paginator
        try:
            with expendable(using=self.queryset.db):
                return paginator.row_count
        except SlowReadError:
            return None


class BigChangeList(BoundedChangeList):
    """A list of a big table: newest first, further pages by ``?before=`` and ``?after=``."""

    def read_page(self, request: HttpRequest) -> KeyPage:
        before, after = _key(request, BEFORE), _key(request, AFTER)
        if after is not None:
            return self._read_newer(after)
        return self._read_older(before)

    def _read_older(self, before: int | None) -> KeyPage:
        rows = self.queryset if before is None else self.queryset.filter(pk__lt=before)
        found = list(rows.order_by("-pk")[: self.list_per_page + 1])
        shown = found[: self.list_per_page]
        newer = None
        if before is not None:
            newer = key_of(shown[0]) if shown else before - 1
        return KeyPage(
            rows=tuple(shown),
            older_before=key_of(shown[-1]) if len(found) > len(shown) else None,
            newer_after=newer,
        )

    def _read_newer(self, after: int) -> KeyPage:
        rows = self.queryset.filter(pk__gt=after).order_by("pk")
        found = list(rows[: self.list_per_page + 1])
        shown = found[: self.list_per_page][::-1]
        return KeyPage(
            rows=tuple(shown),
            older_before=key_of(shown[-1]) if shown else after + 1,
            newer_after=key_of(shown[0]) if len(found) > len(shown) else None,
        )


def _drawn(spec: Any, choices: tuple[dict[str, Any], ...]) -> DrawnFilter:
    chosen = next((choice["display"] for choice in choices if choice["selected"]), "")
    is_active = bool(spec.used_parameters)
    return DrawnFilter(
        title=str(spec.title), chosen=str(chosen), is_active=is_active, choices=choices
    )


def _key(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    number = whole_number(text)
    if number is None:
        raise IncorrectLookupParameters(f"{name}={text}")
    return number
