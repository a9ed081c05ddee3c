"""Retention: for how long the rows of each target are kept, and what the last sweep did."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.base import AnyModelAdmin, ReadOnlyAdmin
from jobs.admin.verbs import VerbButton
from jobs.audit import record
from jobs.markup import State, cut, link, state_mark, time_tag
from jobs.models import JobRun, JobState
from jobs.models.audit import Via
from jobs.pruning import targets
from jobs.reads.links import object_path
from jobs.verbs import run_job, schedule_job
from jobs.verbs.targets import kept_reason
from retention.admin.target_list import TargetChangeList
from retention.configuring import add_rows
from retention.days import days_words
from retention.forms import TargetForm
from retention.models import TargetConfig
from retention.preview import preview
from retention.reads import SWEEP, TargetItem, target_rows
from retention.sweep import configured_targets

KEPT = State(shape="—", tone="quiet", word="kept for ever")
GONE = State(shape="▲", tone="warn", word="not declared")
OFF = State(shape="—", tone="quiet", word="not swept")
SWEPT = State(shape="●", tone="good", word="swept")
ALL = State(shape="▲", tone="warn", word="all at the next sweep")
FAILED = State(shape="■", tone="bad", word="error")
CUT = State(shape="▲", tone="warn", word="more is due")


@admin.register(TargetConfig)
class TargetConfigAdmin(ReadOnlyAdmin):
    """The config group of retention: administrators change it, others see it."""

    console_config = True
    change_list_template = "retention/admin/targets.html"
    change_form_template = "retention/admin/target.html"
    changelist_class = TargetChangeList
    form = TargetForm
    fields = ("days", "enabled", "reason")
    empty_words = "No installed app declares rows that grow old."
    list_display = ("target", "state", "kept", "last", "said")
    ordering = ("name",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return AnyModelAdmin.has_change_permission(self, request, obj)

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "preview/",
            self.admin_site.admin_view(self.preview_view),
            name="retention_targetconfig_preview",
        )
        return [own, *super().get_urls()]

    def read_rows(self) -> QuerySet[TargetConfig]:
        return target_rows()

    @admin.display(description="target")
    def target(self, row: Any) -> SafeString:
        item: TargetItem = row.item
        words = f"{item.id} · {item.table}" if item.declared else item.id
        return format_html(
            '<strong>{}</strong><span class="console-summary">{}</span>'
            '<span class="console-summary">{}</span>',
            self.row_link(row, item.label),
            words,
            item.help,
        )

    @admin.display(description="kept")
    def kept(self, row: Any) -> str:
        return days_words(row.item.days)

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        return state_mark(state_of(row.item))

    @admin.display(description="last sweep")
    def last(self, row: Any) -> SafeString | str:
        last = row.item.last
        if last is None:
            return ""
        at = time_tag(last.at, now=row.item.read_at)
        return link(object_path(JobRun, last.run_id), at)

    @admin.display(description="deleted")
    def said(self, row: Any) -> SafeString | str:
        last = row.item.last
        if last is None:
            return ""
        if last.error:
            return format_html('<span class="console-error">{}</span>', cut(last.error, 200))
        more = ", more is due" if last.truncated else ""
        return f"{last.deleted:,}{more}"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job_path = object_path(JobState, SWEEP)
        context = {
            "title": "Retention",
            "links": self._links(request),
            "job_path": job_path,
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
        if request.method == "POST" and self.has_change_permission(request):
            add_rows()  # of an app that was installed since the last migrate
        target = targets.find(unquote(object_id))
        context = {"title": target.label, "subtitle": target.name} if target else {}
        return AnyModelAdmin.change_view(
            self, request, object_id, form_url, {**context, **(extra_context or {})}
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001
        if not {"days", "enabled"} & set(form.changed_data):
            return
        before = TargetConfig.objects.select_for_update().get(pk=obj.pk)
        super().save_model(request, obj, form, change)
        user: Any = request.user
        record(
            actor=user,
            via=Via.ADMIN,
            verb="set_retention",
            target=f"{TargetConfig._meta.db_table} {obj.pk}",
            reason=kept_reason(form.cleaned_data["reason"]),
            detail={"from": _setting(before), "to": _setting(obj)},
        )

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Count what the next sweep would delete."""
        return self.console_page(
            request,
            "retention/admin/preview.html",
            title="What the next sweep would delete",
            counted=[
                (object_path(TargetConfig, item.id), item)
                for item in preview(configured_targets()).items
            ],
            back=self.list_path,
        )

    def _links(self, request: HttpRequest) -> list[VerbButton]:
        name = "admin:retention_targetconfig_preview"
        page = reverse(name, current_app=self.admin_site.name)
        found = [VerbButton(text="Preview", path=page)]
        for text, verb in (("Sweep now…", run_job), ("Change schedule…", schedule_job)):
            if request.user.has_perm(verb.permission) and request.user.has_perm(
                "jobs.view_jobstate"
            ):
                address = reverse("admin:jobs_jobstate_verb", args=[SWEEP, verb.name])
                found.append(VerbButton(text=text, path=address))
        return found


def state_of(item: TargetItem) -> State:
    """Return how a target is, by its days and by its last sweep."""
    if not item.declared:
        return GONE
    if not item.enabled:
        return OFF
    if item.days is None:
        return KEPT
    if item.last is not None and item.last.error:
        return FAILED
    if item.last is not None and item.last.truncated:
        return CUT
    return ALL if item.days == 0 else SWEPT


def _setting(row: TargetConfig) -> dict[str, Any]:
    return {"days": row.days, "enabled": row.enabled}
