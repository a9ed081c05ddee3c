"""The suppression list: who gets nothing, added and removed with a reason."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from emails.addresses import normalise
from emails.errors import InvalidAddress, RefusedMessage
from emails.list_verbs import suppress_address, unsuppress_entries
from emails.models import EmailSuppression, SuppressionReason
from emails.standing import SuppressionItem, get_suppression, suppression_item, suppression_rows
from jobs.admin.actions_taken import actions_taken
from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import choices_filter
from jobs.admin.history import log_entries
from jobs.admin.search import search_condition
from jobs.admin.verbs import Verb, VerbAdmin, VerbButton
from jobs.markup import cut, time_tag
from jobs.models.audit import Via

PERMISSION = "emails.suppress_emailsuppression"
UNSUPPRESS = Verb(
    name="unsuppress",
    title="Remove",
    past="removed",
    permission="emails.unsuppress_emailsuppression",
    explanation="Each address gets mail again, unless another entry still stops it.",
    eligible=Q(),
    act=unsuppress_entries,
    suits=lambda _: True,
)


class SuppressForm(forms.Form):
    """What an entry needs."""

    address = forms.CharField(max_length=320)
    kind = forms.ChoiceField(choices=SuppressionReason.choices, initial=SuppressionReason.MANUAL)
    list_name = forms.CharField(
        max_length=100,
        required=False,
        label="Only mail of this list (empty: all that the kind stops)",
    )
    until = forms.DateTimeField(
        required=False,
        label="Until (UTC; empty: for ever)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        error_messages={"required": "Say why: the audit keeps it."},
    )

    def clean_address(self) -> str:
        try:
            return normalise(self.cleaned_data["address"])
        except RefusedMessage as error:
            raise forms.ValidationError(str(error)) from error

    def clean_until(self) -> dt.datetime | None:
        given: dt.datetime | None = self.cleaned_data["until"]
        # The form's own zone is the project's; the console speaks UTC.
        return None if given is None else timezone.make_naive(given).replace(tzinfo=dt.UTC)


@admin.register(EmailSuppression)
class EmailSuppressionAdmin(VerbAdmin, BigTableAdmin):
    object_template = "emails/admin/suppression.html"
    empty_words = "Every address gets its mail."
    search_keys = {"address": "address", "list": "list_name"}
    verbs = (UNSUPPRESS,)
    list_filter = (choices_filter("reason", SuppressionReason),)
    list_display = ("address", "reason", "stops", "ends", "since", "said")

    def read_rows(self) -> QuerySet[EmailSuppression]:
        return suppression_rows()

    def read_item(self, number: int) -> SuppressionItem | None:
        return get_suppression(number)

    def has_unsuppress_permission(self, request: HttpRequest) -> bool:
        return self.may(request, UNSUPPRESS.name)

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "suppress/",
            self.admin_site.admin_view(self.suppress_view),
            name="emails_emailsuppression_suppress",
        )
        return [own, *super().get_urls()]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        # An address is what people look for here, and they write it as they like.
        if "@" in search_term and search_condition(search_term, self.search_keys) is None:
            try:
                return queryset.filter(address=normalise(search_term)), False
            except InvalidAddress as error:
                self.message_user(request, str(error), messages.WARNING)
                return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    @admin.display(description="stops")
    def stops(self, row: Any) -> str:
        return stopped_words(suppression_item(row))

    @admin.display(description="until")
    def ends(self, row: Any) -> SafeString | str:
        return time_tag(row.until, now=row.read_at) if row.until else "for ever"

    @admin.display(description="since")
    def since(self, row: Any) -> SafeString:
        return time_tag(row.created_at, now=row.read_at)

    @admin.display(description="detail")
    def said(self, row: Any) -> str:
        return cut(row.detail, 80)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = []
        if request.user.has_perm(PERMISSION):
            links = [VerbButton(text="Suppress an address…", path=self._suppress_path())]
        return super().changelist_view(request, {"links": links, **(extra_context or {})})

    def suppress_view(self, request: HttpRequest) -> HttpResponse:
        """GET asks for an address, POST suppresses it."""
        if not (self.has_view_permission(request) and request.user.has_perm(PERMISSION)):
            raise PermissionDenied
        form = SuppressForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            return self._suppress(request, form.cleaned_data)
        return self.console_page(
            request,
            "emails/admin/suppress.html",
            title="Suppress an address",
            form=form,
            back=self.list_path,
        )

    def object_context(self, request: HttpRequest, item: SuppressionItem) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "title": item.address,
            "stops": stopped_words(item),
            **actions_taken(EmailSuppression, item.id),
        }

    def _suppress(self, request: HttpRequest, given: Mapping[str, Any]) -> HttpResponse:
        user: Any = request.user
        with transaction.atomic():
            outcome = suppress_address(actor=user, via=Via.ADMIN, **given)
            text = f"suppressed: {given['reason']}"
            log_entries(user, EmailSuppression, outcome.changed, text=text)
        done = bool(outcome.changed)
        words = "is suppressed." if done else "was suppressed already."
        level = messages.SUCCESS if done else messages.WARNING
        self.message_user(request, f"{given['address']} {words}", level)
        return redirect(self.list_path)

    def _suppress_path(self) -> str:
        name = "admin:emails_emailsuppression_suppress"
        return reverse(name, current_app=self.admin_site.name)


def stopped_words(item: SuppressionItem) -> str:
    """Return what an entry stops, in words."""
    if item.scope == "everything":
        return item.scope
    return f"list {item.list_name}" if item.list_name else "list mail"
