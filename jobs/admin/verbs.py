"""
What an operator may do to rows: one page for every verb.

The page says what will happen, to how many rows, shows ten of them and the highest id
included, so that rows which come later are not swept in; it asks a reason, and above 1,000
rows the number. The verb itself decides by the rows' state, so that pressing twice acts
once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse

from jobs.admin.base import ReadOnlyAdmin
from jobs.admin.history import log_entries
from jobs.admin.verb_form import VerbForm
from jobs.admin.verb_selection import Selection, SelectionError, preview
from jobs.audit import Outcome
from jobs.models.audit import Via
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import object_path

# What carries a verb out: it audits in its own transaction and says what it changed. It takes
# the rows, and by name ``actor``, ``via``, ``reason`` and what else the verb's form asks.
Act = Callable[..., Outcome]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One thing that an operator may do."""

    name: str  # in addresses and in the audit
    title: str  # what the button says, without the dots
    past: str  # "retried", for what is said afterwards
    permission: str  # "emails.retry_emailjob"
    explanation: str  # one sentence: what will happen to each row
    eligible: Q  # the rows that it acts on
    act: Act
    suits: Callable[[Any], bool]  # whether its button belongs on an item's page
    form: type[VerbForm] = VerbForm
    in_lists: bool = True  # whether it may act on what is ticked


@dataclass(frozen=True, kw_only=True)
class VerbButton:
    """A button that leads to a verb's page."""

    text: str
    path: str


class VerbAdmin(ReadOnlyAdmin):
    """Adds verbs to the pages of rows, to selections, and to named sets of rows."""

    verbs: ClassVar[tuple[Verb, ...]] = ()
    # Sets that a verb may act on as a whole, up to a highest id.
    verb_scopes: ClassVar[Mapping[str, Q]] = {}

    def __init__(self, model: Any, admin_site: admin.AdminSite) -> None:
        super().__init__(model, admin_site)
        self.actions: Any = [_selection_action(verb) for verb in self.verbs if verb.in_lists]
        if not self.actions:
            self.actions = None  # no boxes to tick

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "verb/<slug:name>/",
            self.admin_site.admin_view(self.verb_view),
            name=f"{self.opts.app_label}_{self.opts.model_name}_verb",
        )
        # Before the stock addresses, whose last one takes any path for a key.
        return [own, *super().get_urls()]

    def may(self, request: HttpRequest, name: str) -> bool:
        """Say whether the user may use a verb."""
        return request.user.has_perm(self.verb(name).permission)

    def verb(self, name: str) -> Verb:
        """Return a verb by its name; raise ``Http404`` for one that there is not."""
        for verb in self.verbs:
            if verb.name == name:
                return verb
        raise Http404(f"There is no verb {name!r} for {self.opts.verbose_name_plural}.")

    def buttons(self, request: HttpRequest, item: Any) -> list[VerbButton]:
        """Return the buttons of a row's page: those that suit it and are permitted."""
        return [
            VerbButton(text=f"{verb.title}…", path=self.verb_path(verb.name, ids=item.id))
            for verb in self.verbs
            if verb.suits(item) and request.user.has_perm(verb.permission)
        ]

    def verb_path(self, name: str, **selection: object) -> str:
        """Return the address of a verb's page for a selection."""
        view = f"admin:{self.opts.app_label}_{self.opts.model_name}_verb"
        page = reverse(view, args=[name], current_app=self.admin_site.name)
        return f"{page}?{urlencode(selection)}"

    def sample_words(self, row: Any) -> str:
        """Return the line of a row on a verb's page."""
        return str(row)

    def object_context(self, request: HttpRequest, item: Any) -> Mapping[str, Any]:
        return {**super().object_context(request, item), "buttons": self.buttons(request, item)}

    def verb_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """GET says what would happen, POST with a reason does it."""
        verb = self.verb(name)
        if not (self.has_view_permission(request) and request.user.has_perm(verb.permission)):
            raise PermissionDenied
        source = request.POST if request.method == "POST" else request.GET
        try:
            selection = Selection.read(source, self.verb_scopes)
            with bounded():
                shown = preview(self.opts.model, selection, self.verb_scopes, verb.eligible)
        except (SelectionError, SlowReadError) as error:
            return self.message_page(request, title=str(error), status=400)
        form = verb.form(request.POST if request.method == "POST" else None, count=shown.count)
        if request.method == "POST" and form.is_valid():
            return self._carry_out(request, verb, shown.selection, form)
        return self.console_page(
            request,
            "jobs/admin/verb.html",
            title=f"{verb.title} {self.opts.verbose_name_plural}",
            verb=verb,
            preview=shown,
            sample=[(self._row_path(row), self.sample_words(row)) for row in shown.sample],
            form=form,
            back=self.list_path,
        )

    def _carry_out(
        self, request: HttpRequest, verb: Verb, selection: Selection, form: VerbForm
    ) -> HttpResponse:
        rows = selection.rows(self.opts.model, self.verb_scopes)
        user: Any = request.user
        with transaction.atomic():
            reason = form.cleaned_data["reason"]
            outcome = verb.act(rows, actor=user, via=Via.ADMIN, reason=reason, **form.asked)
            log_entries(user, self.opts.model, outcome.changed, text=f"{verb.past}: {reason}")
        self._report(request, verb, outcome)
        if selection.is_single:
            return redirect(object_path(self.opts.model, selection.ids[0]) or self.list_path)
        return redirect(self.list_path)

    def _report(self, request: HttpRequest, verb: Verb, outcome: Outcome) -> None:
        done = len(outcome.changed)
        level = messages.SUCCESS if done else messages.WARNING
        noun = self.opts.verbose_name if done == 1 else self.opts.verbose_name_plural
        text = f"{done:,} {noun} {verb.past}." if done else "Nothing was left to do."
        if outcome.refused:
            named = [f"{refusal.id} {refusal.why}" for refusal in outcome.refused[:10]]
            more = len(outcome.refused) - len(named)
            text += f" Left alone: {', '.join(named)}{f' and {more} more' if more else ''}."
        self.message_user(request, text, level)

    def _row_path(self, row: Any) -> str:
        return object_path(self.opts.model, row.pk)


def _selection_action(verb: Verb) -> Callable[..., HttpResponse]:
    def act_on_selection(
        model_admin: VerbAdmin, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse:
        # The boxes that were ticked, whatever "select all" would have added since.
        del queryset
        ids = ",".join(request.POST.getlist(ACTION_CHECKBOX_NAME))
        return redirect(model_admin.verb_path(verb.name, ids=ids))

    act_on_selection.__name__ = f"{verb.name}_selected"
    described: Callable[..., HttpResponse] = admin.action(
        description=f"{verb.title} selected %(verbose_name_plural)s…", permissions=[verb.name]
    )(act_on_selection)
    return described
