"""Pages that show rows and change none: the base of the console's model pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from jobs.admin.changelist import BigChangeList, BoundedChangeList
from jobs.admin.live import Live, live_of
from jobs.admin.paginator import BoundedPaginator
from jobs.admin.search import search_condition, search_help, whole_number
from jobs.markup import link
from jobs.reads.bounded import READ_LIMIT_MS, bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import object_path

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
else:
    AnyModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(AnyModelAdmin):
    """
    A list and a page for each row; no add, change or delete.

    ``read_rows`` returns the list's rows, ``read_object`` what a row's page shows. Both call
    reads of ``<app>/reads``, so that commands and tools show the same.
    """

    change_list_template = "jobs/admin/change_list.html"
    object_template: ClassVar[str]
    changelist_class: ClassVar[type[BoundedChangeList]] = BoundedChangeList
    empty_words: ClassVar[str] = "There are none yet."
    # How long a statement of the page may take.
    read_limit_ms: ClassVar[int] = READ_LIMIT_MS
    # Whether the list and the pages of rows refresh themselves.
    is_live: ClassVar[bool] = False
    # One row and several, for the count below a list; the model's own names without it.
    counted_as: ClassVar[tuple[str, str] | None] = None
    empty_value_display = ""
    actions = None
    # Rows are linked by ``row_link``: the stock links resolve an address for each row, which
    # is a quarter of the list's time.
    list_display_links: Any = None
    sortable_by = ()
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = BoundedPaginator

    class Media:
        css = {"all": ("jobs/console.css",)}

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.read_rows()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[BoundedChangeList]:
        return self.changelist_class

    def read_rows(self) -> QuerySet[Any]:
        """Return the rows of the list."""
        raise NotImplementedError

    def read_object(self, request: HttpRequest, key: str) -> Any:
        """Return what the page of a row shows, or None when there is no such row."""
        raise NotImplementedError

    def object_context(self, request: HttpRequest, item: Any) -> Mapping[str, Any]:
        """Return what the page's template needs beside the item."""
        del request, item
        return {}

    def changes_by_itself(self, item: Any) -> bool:
        """Say whether a row's page may show something else in a moment."""
        del item
        return True

    def live(self, request: HttpRequest) -> Live | None:
        """Return how the page refreshes itself; None when it does not."""
        return live_of(request) if self.is_live else None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = capfirst(self.opts.verbose_name_plural)
        context = {
            "title": title,
            "empty_words": self.empty_words,
            "live": self.live(request),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request):
            raise PermissionDenied
        key = unquote(object_id)
        try:
            with bounded(milliseconds=self.read_limit_ms):
                item = self.read_object(request, key)
                extra = self.object_context(request, item) if item is not None else {}
        except SlowReadError as error:
            return self.message_page(request, title=str(error), status=503)
        if item is None:
            return self._gone(request, key)
        title = f"{capfirst(self.opts.verbose_name)} {key}"
        live = self.live(request) if self.changes_by_itself(item) else None
        context = {"title": title, "item": item, "live": live, **extra, **(extra_context or {})}
        return self.console_page(request, self.object_template, **context)

    def console_page(
        self, request: HttpRequest, template: str, *, title: str, status: int = 200, **context: Any
    ) -> HttpResponse:
        """Return a page of the console within the admin's frame."""
        request.current_app = self.admin_site.name
        frame = self.admin_site.each_context(request)
        content = {**frame, "opts": self.opts, "title": title, "media": self.media, **context}
        return TemplateResponse(request, template, content, status=status)

    def message_page(self, request: HttpRequest, *, title: str, status: int) -> HttpResponse:
        """Return a page that only says something."""
        return self.console_page(request, "jobs/admin/message.html", title=title, status=status)

    def row_link(self, row: Any, text: object) -> SafeString | str:
        """Draw the link of a list's row to its page."""
        return link(object_path(self.opts.model, row.pk), text)

    @property
    def list_path(self) -> str:
        """The address of the list, on the site that this admin belongs to."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"
        return reverse(name, current_app=self.admin_site.name)

    def _gone(self, request: HttpRequest, key: str) -> HttpResponse:
        text = f"There is no {self.opts.verbose_name} {key}: it never was, or it has been pruned."
        self.message_user(request, text, messages.WARNING)
        return redirect(self.list_path)


class BigTableAdmin(ReadOnlyAdmin):
    """
    A table of millions of rows.

    Newest first by key; no facets, no date hierarchy, no full count; filters of
    ``jobs.admin.filters`` only; search by exact match on ``search_keys``, which maps the
    names that people type to indexed columns. Measured on 2,000,000 rows, a stock list is
    35 times slower, and with facets it has no answer within 90 s.
    """

    ordering = ("-id",)
    list_per_page = 50
    changelist_class = BigChangeList
    search_fields = ("pk",)  # shows the box; ``get_search_results`` decides
    search_keys: ClassVar[Mapping[str, str]] = {}

    def read_item(self, number: int) -> Any:
        """Return what the page of the row with this key shows, or None."""
        raise NotImplementedError

    def read_object(self, request: HttpRequest, key: str) -> Any:
        number = whole_number(key)
        return None if number is None else self.read_item(number)

    @property
    def search_help_text(self) -> str:  # type: ignore[override]
        return search_help(str(self.opts.verbose_name), self.search_keys)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        condition = search_condition(search_term, self.search_keys)
        if condition is None:
            text = f"“{search_term[:60]}” cannot be searched for. {self.search_help_text}"
            self.message_user(request, text, messages.WARNING)
            return queryset.none(), False
        return queryset.filter(condition), False
